package catalog

// Core is the row of a resource of the core group, v1, or nil.
func (s *Snapshot) Core(plural string) *Row { return s.Resource("", "v1", plural) }
