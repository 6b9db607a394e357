package document

// Value is a cursor.
type Value struct {
	d *Document
	n int32
}

// Document is an arena.
type Document struct{}
