package index

// Len is the number of headers in the view, of all namespaces.
func (v View) Len() int { return v.tree.Len() }
