package objects

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// Write is one change of one object, whoever makes it: every request that writes, and
// the server itself. It is evaluated against a basis, which is the object as it was read
// or nothing, and committed while the basis stands; else it is evaluated again.
//
// Invariants:
//
//	W1. An evaluation captures nothing: what it decodes, claims and warns of is its own,
//	    and what an abandoned one claimed is given back. So it may run again.
//	W2. Where no step can wait, the evaluation runs in the store's transaction, under the
//	    lock of the key. Where one can, no lock is held while it runs.
//	W3. Whoever creates an object in a namespace keeps the namespace from ending (namespaceLocks)
//	    from the last check that it accepts the object until the object is stored.
type Write struct {
	Ref
	Opts    Options
	Change  Change
	Steps   []step         // between change and commit; nil: those of a new object, or of an update
	Creates bool           // there is to be no object yet, and its name may be generated
	deletes *DeleteOptions // of a delete, which changes the basis itself
	As      *Via           // what admission sees instead of the object; nil for that
}

// Change gives the object to store in place of the basis, e.shown, of which e.was is
// the tree, and which must not be changed; both are in the version of the write. What it
// makes on the way it hands to e.keep. It may be called again, and then begins anew.
type Change func(e *Evaluation) (document.Value, error)

// step is a part of an evaluation. An error refuses the write.
type step func(e *Evaluation) error

// The steps of writes, in their order.
var (
	createSteps = []step{(*Evaluation).dropSystem, (*Evaluation).own, (*Evaluation).convert, (*Evaluation).prepareNew, (*Evaluation).admit,
		(*Evaluation).claimAddresses, (*Evaluation).validate, (*Evaluation).refuseVersion, (*Evaluation).collectWarnings, (*Evaluation).check, (*Evaluation).seal}
	updateSteps = []step{(*Evaluation).compare, (*Evaluation).own, (*Evaluation).convert, (*Evaluation).prepare, (*Evaluation).admit,
		(*Evaluation).claimAddresses, (*Evaluation).validate, (*Evaluation).collectWarnings, (*Evaluation).check, (*Evaluation).seal}
	// What only the server may change follows none of the rules for updates.
	DirectSteps = []step{(*Evaluation).admit, (*Evaluation).check, (*Evaluation).seal}
)

// Result is what became of a write. The entry is what the store holds, or would hold
// after a dry run; of a deletion it is the last state.
type Result struct {
	store.Entry
	Created bool
	ending  ending
}

// Evaluation is one attempt of a write.
type Evaluation struct {
	*Write
	s         *Objects
	ctx       context.Context
	Opts      Options      // of this attempt
	stored    Ref          // what is written, in the version that is stored
	current   *store.Entry // the basis; nil for nothing
	Shown     *store.Entry // the basis in the version of the write
	old       document.Value
	Was       document.Value // old in the version of the write
	obj       document.Value // from convert on in the version that is stored
	Via       *Via
	version   string // that a new object came with
	generated bool
	causes    []schema.Cause // what is wrong with the object in the version of the write
	claim     *allocate.Claim
	alive     *sync.RWMutex // of the namespace, held for reading
	told      []string      // warnings
	docs      []*document.Document
	made      store.Write
	answer    *store.Entry // when it is not what the store holds afterwards
	given     bool         // to the store, which may have written it
	ending    ending
}

// Via is what admission sees of a write through a subresource whose bodies are of another
// kind.
type Via struct {
	Subresource string
	Obj, Old    document.Value
}

// Keep lets the evaluation release a document when it is over.
func (e *Evaluation) Keep(doc *document.Document) document.Value {
	e.docs = append(e.docs, doc)
	return doc.Root()
}

// Bounds of how often a write is evaluated: with another generated name, and against
// another basis.
const (
	generateTries = 8
	basisTries    = 5
)

// errStale leaves a transaction whose basis no longer stands.
var errStale = errors.New("the basis of the write has changed")

// Write makes one change. Errors: those of the steps, 404, 409, 413, the store's.
func (o *Objects) Write(ctx context.Context, w *Write) (Result, error) {
	if w.Creates || o.waits(w, admission.Update) {
		return o.writeApart(ctx, w)
	}
	var e *Evaluation
	defer func() { e.abandon() }() // after a panic; otherwise finish was first
	key := w.Row.Key(w.Namespace, w.Name)
	entry, err := o.store.Update(ctx, key, func(current *store.Entry) (store.Write, error) {
		e.abandon()
		if e = nil; current == nil && o.waits(w, admission.Create) {
			return store.Write{}, errWaits
		}
		e = newEvaluation(ctx, o, w, current)
		if err := e.run(); err != nil {
			return store.Write{}, err
		}
		return e.commit()
	})
	if errors.Is(err, errWaits) {
		return o.writeApart(ctx, w)
	}
	return e.finish(key, entry, err)
}

// errWaits leaves a transaction whose evaluation may wait for something.
var errWaits = errors.New("the evaluation may wait")

// waits reports whether a step of the write may wait, where it is one of this sort.
func (o *Objects) waits(w *Write, operation admission.Operation) bool {
	if w.deletes != nil {
		operation = admission.Delete
	}
	return o.admission.Waits(operation, w.Row.Storage().Resource, w.subName())
}

// writeApart makes one change whose evaluation may wait, or that does not know its key
// before.
func (o *Objects) writeApart(ctx context.Context, w *Write) (Result, error) {
	for try := 1; ; try++ {
		var basis *store.Entry
		if !w.Creates {
			switch entry, err := o.store.Get(ctx, w.Row.Key(w.Namespace, w.Name)); {
			case err == nil:
				basis = &entry
			case !errors.Is(err, store.ErrNotFound):
				return Result{}, err
			}
		}
		e := newEvaluation(ctx, o, w, basis)
		defer e.abandon() // after a panic; otherwise finish was first
		if err := e.run(); err != nil {
			return e.finish("", store.Entry{}, err)
		}
		name := e.obj.Get("metadata").Get("name").Text()
		key := w.Row.Key(w.Namespace, name)
		entry, err := o.store.Update(ctx, key, func(current *store.Entry) (store.Write, error) {
			if !sameBasis(basis, current) {
				return store.Write{}, errStale
			}
			return e.commit()
		})
		switch stale := errors.Is(err, errStale); {
		case stale && w.Creates && (!e.generated || try == generateTries):
			err = api.AlreadyExists(w.Row.GroupResource(), name)
		case stale && !w.Creates && try == basisTries:
			err = api.Conflict(w.Row.GroupResource(), name, "the object has been modified again and again while the change was decided on; please try again")
		case stale:
			e.abandon()
			continue
		}
		return e.finish(key, entry, err)
	}
}

// sameBasis reports whether what an evaluation began with is what is stored.
func sameBasis(basis, current *store.Entry) bool {
	if basis == nil || current == nil {
		return basis == current
	}
	return basis.Revision == current.Revision
}

func newEvaluation(ctx context.Context, s *Objects, w *Write, current *store.Entry) *Evaluation {
	return &Evaluation{Write: w, s: s, ctx: ctx, Opts: w.Opts, Via: w.As, stored: w.Ref.Stored(), current: current, Shown: current}
}

// run evaluates the write: what is made is in e.made.
func (e *Evaluation) run() (err error) {
	if e.current != nil {
		row := e.stored.Row
		doc, err := document.ReadStored(row.GV.Types(), row.Type, e.current.Body)
		if err != nil {
			return err
		}
		e.old = e.Keep(doc)
		if err := e.show(); err != nil {
			return err
		}
	}
	if e.obj, err = e.Change(e); err != nil {
		return e.mistakesFirst(err)
	}
	return e.take()
}

// take goes through the steps.
func (e *Evaluation) take() error {
	steps := e.Steps
	switch {
	case steps != nil:
	case e.current == nil:
		steps = createSteps
	default:
		steps = updateSteps
	}
	for _, do := range steps {
		if err := do(e); err != nil {
			return err
		}
	}
	return nil
}

// mistakesFirst is err, or where a kind's missing objects are checked first what is
// wrong with the one that was to be there, unless that is one of which it says the uid.
func (e *Evaluation) mistakesFirst(err error) error {
	var missing, wrong *api.Error
	switch {
	case e.current != nil || !e.Row.CheckedWhenMissing || !e.obj.Exists() || e.obj.At("metadata", "uid").Text() != "":
		return err
	case !errors.As(err, &missing) || missing.Kind != e.Row.Plural && missing.Kind != e.stored.Row.Plural:
		return err
	}
	e.Write = &Write{Ref: e.Ref, Opts: e.Write.Opts}
	if e.Sub != nil { // through which nothing new is filled in
		e.obj.Remove("status")
		e.Steps = []step{(*Evaluation).dropSystem, (*Evaluation).convert, (*Evaluation).validate}
	}
	e.Sub, e.stored.Sub = nil, nil
	if other := e.take(); errors.As(other, &wrong) && wrong.Reason == api.ReasonInvalid {
		return wrong
	}
	return err
}

// commit gives the store what was evaluated. Under it the basis stands.
func (e *Evaluation) commit() (store.Write, error) {
	if e.made.Op == store.OpCreate && e.Row.Namespaced && e.alive == nil {
		e.alive = e.s.namespaces.lock(e.Namespace)
		e.alive.RLock()
		if err := e.s.NamespaceAccepts(e.ctx, e.Row, e.Namespace, e.obj.Get("metadata").Get("name").Text()); err != nil {
			return store.Write{}, err
		}
	}
	if e.Opts.DryRun || e.made.Op == store.OpDelete && e.answersObject() {
		e.answer = notStored(e.current, e.obj, e.version)
	}
	if e.Opts.DryRun {
		return store.Write{}, errDryRun
	}
	e.given = true
	return e.made, nil
}

// answersObject reports whether a deletion is answered with the object as it was.
func (e *Evaluation) answersObject() bool {
	return e.Steps == nil || e.stored.Row.DeleteReturnsObject
}

// abandon gives back what an evaluation has that is not to be written. There may be none.
func (e *Evaluation) abandon() {
	if e != nil {
		e.claim.Release()
		e.claim = nil
		e.release()
	}
}

func (e *Evaluation) release() {
	if e.alive != nil {
		e.alive.RUnlock()
		e.alive = nil
	}
	for _, doc := range e.docs {
		doc.Release()
	}
	e.docs = nil
}

// finish ends the last evaluation of a write, after the store's transaction, of which
// entry and err are the result. There is none where the store did not begin.
func (e *Evaluation) finish(key string, entry store.Entry, err error) (Result, error) {
	if e == nil {
		return Result{}, err
	}
	defer e.release()
	settle(e.claim, key, e.given, err)
	e.claim = nil
	if e.Opts.Author != nil {
		for _, text := range e.told {
			e.Opts.Author.Warn(text)
		}
	}
	out := Result{Created: e.made.Op == store.OpCreate, ending: e.ending}
	switch {
	case errors.Is(err, ErrNothing):
		err = nil
	case errors.Is(err, errDryRun), err == nil && e.answer != nil:
		out.Entry, err = *e.answer, nil
		out.Key = key
	default:
		out.Entry = entry
	}
	return out, err
}

// errDryRun leaves a transaction that must not write.
var errDryRun = errors.New("dry run")

// notStored is an object as an answer that is not what the store holds: that of a dry
// run, or of an update that ended in a deletion. It is at the revision of the object that
// it replaces; where there is none (nil), it has the version that it came with.
func notStored(current *store.Entry, obj document.Value, version string) *store.Entry {
	entry := &store.Entry{}
	if current != nil {
		entry.Revision = current.Revision
		version = strconv.FormatUint(current.Revision, 10)
	}
	if meta := obj.Get("metadata"); version != "" {
		meta.SetString("resourceVersion", version)
	} else {
		meta.Remove("resourceVersion")
	}
	entry.Value = store.Value{Body: obj.AppendJSON(nil), RevisionAt: -1}
	return entry
}

// Editing is a change that edit makes in a copy of the object. Errors besides edit's: 404.
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

// NewObject is a change that creates what decode gives, to which first was decoded
// already; nil when it was not.
func NewObject(first *document.Document, decode func() (*document.Document, error)) Change {
	return func(e *Evaluation) (document.Value, error) {
		doc := first
		if first = nil; doc == nil {
			var err error
			if doc, err = decode(); err != nil {
				return document.Value{}, err
			}
		}
		return e.beNew(e.Keep(doc))
	}
}
