package server

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
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// ref is what a write is about: an object, or one of its subresources, in one version.
type ref struct {
	resource  *catalog.Row
	sub       *api.Subresource
	namespace string       // "" for cluster-scoped resources and for all namespaces
	name      string       // "" for collections, and for objects whose name is generated
	written   *catalog.Row // the version that was written, when resource is the one that is stored instead; else nil
}

// write is one change of one object, whoever makes it: every request that writes, and
// the server itself. It is evaluated against a basis, which is the object as it was read
// or nothing, and committed while the basis stands; else it is evaluated again.
//
// Invariants:
//
//	W1. An evaluation captures nothing: what it decodes, claims and warns of is its own,
//	    and what an abandoned one claimed is given back. So it may run again.
//	W2. Where no step can wait, the evaluation runs in the store's transaction, under the
//	    lock of the key. Where one can, no lock is held while it runs.
//	W3. Whoever creates an object in a namespace keeps the namespace from ending (births)
//	    from the last check that it accepts the object until the object is stored.
type write struct {
	ref
	opts    writeOptions
	change  changeFunc
	steps   []step         // between change and commit; nil: those of a new object, or of an update
	creates bool           // there is to be no object yet, and its name may be generated
	deletes *deleteOptions // of a delete, which changes the basis itself
	as      *via           // what admission sees instead of the object; nil for that
}

// changeFunc gives the object to store in place of the basis, e.shown, of which e.was is
// the tree, and which must not be changed; both are in the version of the write. What it
// makes on the way it hands to e.keep. It may be called again, and then begins anew.
type changeFunc func(e *evaluation) (document.Value, error)

// step is a part of an evaluation. An error refuses the write.
type step func(e *evaluation) error

// The steps of writes, in their order.
var (
	createSteps = []step{(*evaluation).dropSystem, (*evaluation).own, (*evaluation).convert, (*evaluation).prepareNew, (*evaluation).admit,
		(*evaluation).claimAddresses, (*evaluation).validate, (*evaluation).refuseVersion, (*evaluation).collectWarnings, (*evaluation).check, (*evaluation).seal}
	updateSteps = []step{(*evaluation).compare, (*evaluation).own, (*evaluation).convert, (*evaluation).prepare, (*evaluation).admit,
		(*evaluation).claimAddresses, (*evaluation).validate, (*evaluation).collectWarnings, (*evaluation).check, (*evaluation).seal}
	// What only the server may change follows none of the rules for updates.
	directSteps = []step{(*evaluation).admit, (*evaluation).check, (*evaluation).seal}
)

// subName is the name of the subresource, "" for the object itself.
func (t *ref) subName() string {
	if t.sub == nil {
		return ""
	}
	return t.sub.Name
}

// result is what became of a write. The entry is what the store holds, or would hold
// after a dry run; of a deletion it is the last state.
type result struct {
	store.Entry
	created bool
	ending  ending
}

// evaluation is one attempt of a write.
type evaluation struct {
	*write
	s         *Server
	ctx       context.Context
	opts      writeOptions // of this attempt
	stored    ref          // what is written, in the version that is stored
	current   *store.Entry // the basis; nil for nothing
	shown     *store.Entry // the basis in the version of the write
	old       document.Value
	was       document.Value // old in the version of the write
	obj       document.Value // from convert on in the version that is stored
	via       *via
	version   string // that a new object came with
	generated bool
	causes    []schema.Cause // what is wrong with the object in the version of the write
	claim     *allocate.Claim
	births    *sync.RWMutex // held for reading
	told      []string      // warnings
	docs      []*document.Document
	made      store.Write
	answer    *store.Entry // when it is not what the store holds afterwards
	given     bool         // to the store, which may have written it
	ending    ending
}

// via is what admission sees of a write through a subresource whose bodies are of another
// kind.
type via struct {
	subresource string
	obj, old    document.Value
}

// keep lets the evaluation release a document when it is over.
func (e *evaluation) keep(doc *document.Document) document.Value {
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

// write makes one change. Errors: those of the steps, 404, 409, 413, the store's.
func (s *Server) write(ctx context.Context, w *write) (result, error) {
	if w.creates || s.waits(w, admission.Update) {
		return s.writeApart(ctx, w)
	}
	var e *evaluation
	defer func() { e.abandon() }() // after a panic; otherwise finish was first
	key := w.resource.Key(w.namespace, w.name)
	entry, err := s.store.Update(ctx, key, func(current *store.Entry) (store.Write, error) {
		e.abandon()
		if e = nil; current == nil && s.waits(w, admission.Create) {
			return store.Write{}, errWaits
		}
		e = newEvaluation(ctx, s, w, current)
		if err := e.run(); err != nil {
			return store.Write{}, err
		}
		return e.commit()
	})
	if errors.Is(err, errWaits) {
		return s.writeApart(ctx, w)
	}
	return e.finish(key, entry, err)
}

// errWaits leaves a transaction whose evaluation may wait for something.
var errWaits = errors.New("the evaluation may wait")

// waits reports whether a step of the write may wait, where it is one of this sort.
func (s *Server) waits(w *write, operation admission.Operation) bool {
	if w.deletes != nil {
		operation = admission.Delete
	}
	return s.admission.Waits(operation, w.resource.Storage().Resource, w.subName())
}

// writeApart makes one change whose evaluation may wait, or that does not know its key
// before.
func (s *Server) writeApart(ctx context.Context, w *write) (result, error) {
	for try := 1; ; try++ {
		var basis *store.Entry
		if !w.creates {
			switch entry, err := s.store.Get(ctx, w.resource.Key(w.namespace, w.name)); {
			case err == nil:
				basis = &entry
			case !errors.Is(err, store.ErrNotFound):
				return result{}, err
			}
		}
		e := newEvaluation(ctx, s, w, basis)
		defer e.abandon() // after a panic; otherwise finish was first
		if err := e.run(); err != nil {
			return e.finish("", store.Entry{}, err)
		}
		name := e.obj.Get("metadata").Get("name").Text()
		key := w.resource.Key(w.namespace, name)
		entry, err := s.store.Update(ctx, key, func(current *store.Entry) (store.Write, error) {
			if !sameBasis(basis, current) {
				return store.Write{}, errStale
			}
			return e.commit()
		})
		switch stale := errors.Is(err, errStale); {
		case stale && w.creates && (!e.generated || try == generateTries):
			err = api.AlreadyExists(w.resource.GroupResource(), name)
		case stale && !w.creates && try == basisTries:
			err = api.Conflict(w.resource.GroupResource(), name, "the object has been modified again and again while the change was decided on; please try again")
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

func newEvaluation(ctx context.Context, s *Server, w *write, current *store.Entry) *evaluation {
	return &evaluation{write: w, s: s, ctx: ctx, opts: w.opts, via: w.as, stored: w.ref.stored(), current: current, shown: current}
}

// run evaluates the write: what is made is in e.made.
func (e *evaluation) run() (err error) {
	if e.current != nil {
		row := e.stored.resource
		doc, err := document.ReadStored(row.GV.Types(), row.Type, e.current.Body)
		if err != nil {
			return err
		}
		e.old = e.keep(doc)
		if err := e.show(); err != nil {
			return err
		}
	}
	if e.obj, err = e.change(e); err != nil {
		return e.mistakesFirst(err)
	}
	return e.take()
}

// take goes through the steps.
func (e *evaluation) take() error {
	steps := e.steps
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
func (e *evaluation) mistakesFirst(err error) error {
	var missing, wrong *api.Error
	switch {
	case e.current != nil || !e.resource.CheckedWhenMissing || !e.obj.Exists() || e.obj.At("metadata", "uid").Text() != "":
		return err
	case !errors.As(err, &missing) || missing.Kind != e.resource.Plural && missing.Kind != e.stored.resource.Plural:
		return err
	}
	e.write = &write{ref: e.ref, opts: e.write.opts}
	e.sub, e.stored.sub = nil, nil
	if other := e.take(); errors.As(other, &wrong) && wrong.Reason == api.ReasonInvalid {
		return wrong
	}
	return err
}

// commit gives the store what was evaluated. Under it the basis stands.
func (e *evaluation) commit() (store.Write, error) {
	if e.made.Op == store.OpCreate && e.resource.Namespaced && e.births == nil {
		e.births = e.s.births.lock(e.namespace)
		e.births.RLock()
		if err := e.s.namespaceAccepts(e.ctx, e.resource, e.namespace, e.obj.Get("metadata").Get("name").Text()); err != nil {
			return store.Write{}, err
		}
	}
	if e.opts.dryRun || e.made.Op == store.OpDelete && e.answersObject() {
		e.answer = notStored(e.current, e.obj, e.version)
	}
	if e.opts.dryRun {
		return store.Write{}, errDryRun
	}
	e.given = true
	return e.made, nil
}

// answersObject reports whether a deletion is answered with the object as it was.
func (e *evaluation) answersObject() bool {
	return e.steps == nil || e.stored.resource.DeleteReturnsObject
}

// abandon gives back what an evaluation has that is not to be written. There may be none.
func (e *evaluation) abandon() {
	if e != nil {
		e.claim.Release()
		e.claim = nil
		e.release()
	}
}

func (e *evaluation) release() {
	if e.births != nil {
		e.births.RUnlock()
		e.births = nil
	}
	for _, doc := range e.docs {
		doc.Release()
	}
	e.docs = nil
}

// finish ends the last evaluation of a write, after the store's transaction, of which
// entry and err are the result. There is none where the store did not begin.
func (e *evaluation) finish(key string, entry store.Entry, err error) (result, error) {
	if e == nil {
		return result{}, err
	}
	defer e.release()
	settle(e.claim, key, e.given, err)
	e.claim = nil
	if e.opts.author != nil {
		for _, text := range e.told {
			e.opts.author.warn(text)
		}
	}
	out := result{created: e.made.Op == store.OpCreate, ending: e.ending}
	switch {
	case errors.Is(err, errNothing):
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

// editing is a change that edit makes in a copy of the object. Errors besides edit's: 404.
func editing(edit func(obj document.Value) error) changeFunc {
	return func(e *evaluation) (document.Value, error) {
		if e.shown == nil {
			return document.Value{}, api.NotFound(e.resource.GroupResource(), e.name)
		}
		doc, err := document.ReadStored(e.resource.GV.Types(), e.resource.Type, e.shown.Body)
		if err != nil {
			return document.Value{}, err
		}
		obj := e.keep(doc)
		return obj, edit(obj)
	}
}

// newObject is a change that creates what decode gives, to which first was decoded
// already; nil when it was not.
func newObject(first *document.Document, decode func() (*document.Document, error)) changeFunc {
	return func(e *evaluation) (document.Value, error) {
		doc := first
		if first = nil; doc == nil {
			var err error
			if doc, err = decode(); err != nil {
				return document.Value{}, err
			}
		}
		return e.beNew(e.keep(doc))
	}
}
