// Package conversion turns objects of one version of a kind into another: custom objects by
// the webhook of their definition, built-in ones by methods, as far as copying fields of one
// name does not do. The interfaces generated from the documents require these methods: a
// pair of versions whose types differ needs both directions.
//
// A method is called after the common fields are copied. from must not be changed. Values
// without a field in a version are kept in annotations where 1.25 does so, so that an
// object converted back is the same.
package conversion

// Hooks are the conversions of all kinds.
type Hooks struct{}
