package catalog

// Core is the row of a resource of the core group, v1, nil where there is none.
func (s *Snapshot) Core(plural string) *Row { return s.Resource("", "v1", plural) }
