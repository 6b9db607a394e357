// Package conversion holds the hand-written parts of conversions between the versions of
// a kind, beyond copying fields of one name. The interfaces generated from the documents
// require its methods: a pair of versions whose types differ needs both directions.
//
// A method is called after the common fields are copied. from must not be changed. Values
// without a field in a version are kept in annotations where 1.25 does so, so that an
// object converted back is the same.
package conversion

// Hooks are the conversions of all kinds.
type Hooks struct{}
