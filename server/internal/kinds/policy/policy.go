// Package policy holds the rules of single kinds that a schema cannot express: defaults
// that depend on other fields, the server's fields of a new object, rules across fields,
// and computed table cells.
//
// The documents name each rule; the generator turns the names into the Hooks interfaces
// of gen/, which Policy has to satisfy. A file holds the rules of one noun. Rules that a
// schema can express (required, enum, bounds, formats of one field) are in the documents
// and not repeated here.
package policy

import (
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// labelDomain is the domain of well-known labels and annotations.
const labelDomain = profile.LabelDomain

// Policy satisfies the Hooks of every group version.
type Policy struct {
	// Now is the current time, from which the ages in tables are counted.
	Now func() time.Time
	// Features reports which features are on. Nil: none of those that are off by default.
	Features func(name string) bool
	// Edition is the release whose rules they are. Nil: the oldest one.
	Edition *api.Edition

	expressions *expression.Functions // that new expressions may use; nil: all of them
}

// on reports whether a feature that is off by default was turned on.
func (p Policy) on(feature string) bool { return p.Features != nil && p.Features(feature) }

// since reports whether the rules are those of a release, like "1.28", or of a later one.
func (p Policy) since(release string) bool { return p.Edition.Since(release) }

// now is the current time as objects have it.
func (p Policy) now() string { return p.Now().UTC().Format(time.RFC3339) }

// New returns the rules of all kinds.
func New(now func() time.Time) Policy { return Policy{Now: now} }

// In are the rules of a release, with some features.
func (p Policy) In(edition *api.Edition, on func(feature string) bool) Policy {
	p.Edition, p.Features = edition, on
	if edition.Since("1.26") {
		p.expressions = expression.FunctionsOf(edition.Since, on("AuthorizeWithSelectors"))
	}
	return p
}

// sameBut reports whether two objects are equal, the named members aside.
func sameBut(a, b document.Value, mutable ...string) bool {
	return document.Same(a, b) || covers(a, b, mutable) && covers(b, a, mutable)
}

// covers reports whether b has all that a has, the named members aside.
func covers(a, b document.Value, mutable []string) bool {
	for name, v := range a.Members() {
		if !slices.Contains(mutable, name) && !document.Equal(v, b.Get(name)) {
			return false
		}
	}
	return true
}

// isEmpty reports whether a value is empty: absent, null, "", [] or {}.
func isEmpty(v document.Value) bool { return v.IsNothing() }

// setOf counts the members that are set.
func setOf(of document.Value, members ...string) (count int) {
	for _, name := range members {
		if isSet(of.Get(name)) {
			count++
		}
	}
	return count
}

// isSet reports whether a member has a value other than null.
func isSet(v document.Value) bool { return v.Exists() && !v.IsNull() }

// number is a whole number, 0 for an absent one.
func number(v document.Value) int64 {
	n, _ := v.Int()
	return n
}

// keep sets a member of obj to that of old, or removes it.
func keep(obj, old document.Value, name string) { obj.Put(name, old.Get(name)) }

// defaultString sets a member that is absent or empty.
func defaultString(obj document.Value, name, value string) {
	if isEmpty(obj.Get(name)) {
		obj.SetString(name, value)
	}
}
