package document

// Same reports whether two containers are known to be equal without writing
// them: both have the canonical text that they were read with. Equal values may
// be told apart by it, different ones never are the same.
func Same(a, b Value) bool { return sameText(a, b) }
