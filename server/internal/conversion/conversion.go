// Package conversion holds what copying fields of one name does not do when an
// object is turned from one version of its kind into another. Which methods there
// must be say the interfaces that are generated from the documents: a pair of
// versions whose types differ needs both directions.
//
// A method is called after the fields that both versions have are copied. from
// must not be changed. What a version cannot say in its fields is kept in
// annotations where 1.25 does so, so that an object comes back as it was.
package conversion

// Hooks are the conversions of all kinds.
type Hooks struct{}
