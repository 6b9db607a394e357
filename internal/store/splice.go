package store

// Splice is a value as readers see it: with the revision in its body.
func Splice(v Value, revision uint64) Value {
	_, shown := encodeValue(v, revision)
	return shown
}
