package store

// Encoded is a value with its revision, as readers see it, and as it is kept. Both share their bytes, which nobody
// changes any more.
type Encoded struct {
	Value  Value
	stored []byte
}

// Encode puts a revision into a value.
func Encode(v Value, revision uint64) Encoded {
	stored, shown := encodeValue(v, revision)
	return Encoded{shown, stored}
}
