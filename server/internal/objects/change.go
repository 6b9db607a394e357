package objects

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// Editing is a change that edit makes in a copy of the object. Errors besides edit's:
// 404.
func Editing(edit func(obj document.Value) error) Change {
	return func(e *Evaluation) (document.Value, error) {
		if e.Shown == nil {
			return document.Value{}, api.NotFound(e.Row.GroupResource(), e.Name)
		}
		doc, err := document.ReadStored(e.Row.GV.Types(), e.Row.Type, e.Shown.Body)
		if err != nil {
			return document.Value{}, err
		}
		obj := e.Keep(doc)
		return obj, edit(obj)
	}
}

// NewObject returns a change that creates the object of a body. The first evaluation takes
// the document first, if there is one; every other evaluation decodes the body again.
func NewObject(first *document.Document, decode func() (*document.Document, error)) Change {
	return func(e *Evaluation) (document.Value, error) {
		doc := first
		if first = nil; doc == nil {
			var err error
			if doc, err = decode(); err != nil {
				return document.Value{}, err
			}
		}
		return e.makeNew(e.Keep(doc))
	}
}
