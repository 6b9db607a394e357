package objects

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Referrers knows the objects whose references keep others from being deleted.
type Referrers interface {
	// To is the number of objects that refer to the one with a key, itself not counted, and some of them, all
	// as at a revision that is not older than any acknowledged write.
	To(key string) (some []Referrer, total int, revision uint64)
}

// Referrer is an object with a reference.
type Referrer struct {
	Kind, Namespace, Name string
}

// A reference and the delete of its object are kept apart by their read sets. A write with a new reference
// depends on the object, as it was found, and has the mark of the object. The delete changes the object, and
// depends on its mark: that nothing has begun to refer to it since the index of references was read. So the
// second of the two is evaluated again, and sees the first.

// newReferences bounds the references that one write may add: each is a comparison and a put in a transaction
// of etcd, which has 128 at most.
const newReferences = 50

// referenceMark is the mark of the writes that add a reference to the object with a key.
func referenceMark(key string) string { return "references/" + key }

// checkReferences finds the new references to missing objects. It sets e.broken when the objects cannot be read.
func (e *Evaluation) checkReferences() (causes []schema.Cause) {
	added := 0
	for i := range e.stored.Row.References {
		r := &e.stored.Row.References[i]
		known := map[string]bool{}
		r.Each(e.old, func(name document.Value) { known[name.Text()] = true })
		r.Each(e.obj, func(name document.Value) {
			if text := name.Text(); !known[text] && e.broken == nil && added <= newReferences {
				known[text] = true
				if added++; added > newReferences {
					causes = append(causes, schema.Cause{Reason: schema.CauseTooMany, Field: name.Path(),
						Message: fmt.Sprintf("Too many: one write may add at most %d references; add the rest with another write", newReferences)})
					return
				}
				causes = append(causes, e.checkReference(r, name)...)
			}
		})
	}
	return causes
}

// checkReference looks for the object of a new reference, which becomes a part of the read set.
func (e *Evaluation) checkReference(r *api.Reference, name document.Value) []schema.Cause {
	text, why := name.Text(), "there is no "+r.Kind+" of this name"
	row := e.s.catalog.Snapshot().Stored(r.Group, r.Resource)
	if row == nil || catalog.BadSegment(text) {
		return e.missing(r, name, why)
	}
	if row.Namespaced {
		why += " in the namespace " + e.Namespace
	}
	key := e.keyOf(row, text)
	if key == e.ownKey() {
		return nil // to itself
	}
	if mark := referenceMark(key); r.OnDelete == api.DeleteRestricted && !slices.Contains(e.marks, mark) {
		e.marks = append(e.marks, mark)
	}
	if r.Missing == api.MissingAllowed && r.OnDelete != api.DeleteCascades {
		return nil
	}
	entry, err := e.s.store.Get(e.ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		e.broken = err
		return nil
	}
	if err == nil {
		if !ends(entry.Body) {
			e.reads = append(e.reads, store.Seen{Key: key, Revision: entry.Revision})
			return nil
		}
		why = "this " + r.Kind + " is being deleted"
	}
	return e.missing(r, name, why)
}

// missing is the mistake of a reference to a missing object, or a warning.
func (e *Evaluation) missing(r *api.Reference, name document.Value, why string) []schema.Cause {
	switch r.Missing {
	case api.MissingRefused:
		return []schema.Cause{{Reason: schema.CauseNotFound, Field: name.Path(), Message: "Not found: " + strconv.Quote(name.Text()) + ": " + why}}
	case api.MissingWarned:
		e.warnings = append(e.warnings, name.Path()+": "+strconv.Quote(name.Text())+": "+why)
	}
	return nil
}

// keep refuses the first step of the delete of an object that others refer to, or that its own rules keep. In a namespace
// that ends everything goes, whatever refers to what.
func (e *Evaluation) keep() error {
	row := e.Row.Storage()
	restricted := row.Restricted && e.s.cfg.Referrers != nil
	if !restricted && !checksInView(row, true) || e.old.At("metadata", "deletionTimestamp").Exists() {
		return nil
	}
	if row.Namespaced {
		switch ends, err := e.s.namespaceEnds(e.ctx, e.Namespace); {
		case err != nil:
			return err
		case ends:
			return nil
		}
	}
	if restricted {
		if err := e.restrict(row); err != nil {
			return err
		}
	}
	return e.checkDelete()
}

// restrict refuses the delete of an object that others refer to.
func (e *Evaluation) restrict(row *catalog.Row) error {
	key := row.Key(e.Namespace, e.Name)
	some, total, revision := e.s.cfg.Referrers.To(key)
	if total > 0 {
		return &KeptError{stillReferred(row, e.Name, some, total)}
	}
	e.reads = append(e.reads, store.Seen{Key: referenceMark(key), Revision: revision, Mark: true})
	return nil
}

// KeptError is the refusal of the delete of an object by what refers to it, or by its own rules.
type KeptError struct{ Refusal *api.Error }

func (e *KeptError) Error() string { return e.Refusal.Message }

// Unwrap is the answer.
func (e *KeptError) Unwrap() error { return e.Refusal }

// namespaceEnds reports whether a namespace is being deleted, or has gone.
func (o *Objects) namespaceEnds(ctx context.Context, name string) (bool, error) {
	entry, err := o.namespace(ctx, name)
	if api.IsReason(err, api.ReasonNotFound) {
		return true, nil
	}
	return ends(entry.Body), err
}

// stillReferred is the refusal of a delete, which names a few of the referrers.
func stillReferred(row *catalog.Row, name string, some []Referrer, total int) *api.Error {
	var names []string
	var causes []schema.Cause
	for _, r := range some {
		shown := r.Name
		if r.Namespace != "" {
			shown = r.Namespace + "/" + r.Name
		}
		names = append(names, r.Kind+" "+shown)
		causes = append(causes, schema.Cause{Reason: api.CauseReferred, Message: r.Kind + " " + shown + " refers to it"})
	}
	list := strings.Join(names, ", ")
	if rest := total - len(some); rest > 0 {
		list += " and " + strconv.Itoa(rest) + " more"
	}
	of := row.GroupResource()
	return &api.Error{Code: http.StatusConflict, Reason: api.ReasonConflict, HasDetails: true, Name: name, Group: of.Group, Kind: of.Resource, Causes: causes,
		Message: fmt.Sprintf("%s %q cannot be deleted while others refer to it: %s; delete those, or have them refer to another one", of, name, list)}
}

// marksOf are the marks of the evaluated write: each once.
func (e *Evaluation) marksOf() []string {
	row := e.Row.Storage()
	if !row.Listed || e.made.Op == 0 {
		return e.marks
	}
	marks := append(slices.Clip(e.marks), listMark(row.Prefix("")))
	if row.Namespaced {
		marks = append(marks, listMark(row.Prefix(e.Namespace)))
	}
	return marks
}
