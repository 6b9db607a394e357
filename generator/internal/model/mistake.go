package model

// Part is the part of a document that a mistake is about (schema.Error.Of), where a program
// that writes documents can leave it out, or write it in another way.
type Part int

const (
	OfRule       Part = iota + 1
	OfColumn          // of tables
	OfColumnType      // a column whose field has another type than the column shows
	OfSelectable
	OfListType // keys of lists, sets
	OfGoName   // a field
)

// Unconverted is a conversion (schema.Error.Of) that loses fields, which are named by
// their paths.
type Unconverted struct {
	Plural string
	Lost   []string
}

// Carried is a field (schema.Error.Of) that a resource cannot carry.
type Carried struct{ Plural, Path string }

// Missing has the names that no other document has (schema.Error.Of), or none for any.
type Missing struct{ Names []string }
