package api

import "github.com/capstan-dev/capstan/internal/document"

// Relations is the part of a row about objects of other kinds.
type Relations struct {
	References []Reference // of the row's objects to others
	Reads      []ReadKind  // for the hooks that check
	Listed     bool        // such a hook may list the row's objects: their writes have marks
	Restricted bool        // a reference may keep one of the row's objects from being deleted
}

// ReadKind is a kind that the hooks which check read, in the version in which it is stored.
type ReadKind struct {
	GroupResource
	Kind string
	Own  bool // of the same API, so that it may be listed
}

// Reference is a field whose text is the name of an object.
type Reference struct {
	Path []string // "*" stands for the elements of a list, or the values of a map
	GroupResource
	Kind     string
	Missing  OnMissing
	OnDelete OnDelete
}

// OnMissing is the effect of a new reference to a missing object on the write.
type OnMissing string

// The words of a document's onMissing.
const (
	MissingRefused OnMissing = "refuse"
	MissingWarned  OnMissing = "warn"
	MissingAllowed OnMissing = "allow"
)

// OnDelete is the effect of a reference on the delete of its object.
type OnDelete string

// The words of a document's onDelete.
const (
	DeleteRestricted OnDelete = "restrict"
	DeleteOrphans    OnDelete = "orphan"
	DeleteCascades   OnDelete = "cascade"
)

// Each visits the names in an object that the reference is about. Empty ones refer to nothing.
func (r *Reference) Each(obj document.Value, visit func(name document.Value)) {
	eachAt(obj, r.Path, visit)
}

func eachAt(v document.Value, path []string, visit func(document.Value)) {
	if len(path) == 0 {
		if v.Text() != "" {
			visit(v)
		}
		return
	}
	if path[0] != "*" {
		eachAt(v.Get(path[0]), path[1:], visit)
		return
	}
	for _, below := range v.Elements() {
		eachAt(below, path[1:], visit)
	}
	for _, below := range v.Members() {
		eachAt(below, path[1:], visit)
	}
}

// View shows a hook that checks other objects: all of them at one revision, and as they still are when the
// write is committed. A view that fails, by its bounds or the end of the request, shows nothing more, and
// the write ends with the view's error whatever the hook returns.
type View interface {
	// Get returns an object, absent when there is none.
	Get(kind, namespace, name string) document.Value
	// List returns the objects of a namespace, "" for all, in the order of their names.
	List(kind, namespace, labelSelector, fieldSelector string) []document.Value
}
