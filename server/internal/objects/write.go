package objects

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/invariants"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// Write is one change of one object, by a request or by the server itself. It is
// evaluated against a basis, the object as it was read or nothing, and committed while
// the basis is the newest state; else it is evaluated again.
//
// Invariants:
//
//	W1. An evaluation has no effect outside of itself: documents, claims, tokens of limits
//	    and warnings are its own, and an abandoned one releases them. So it may run again.
//	W2. If no step can block or take long, the evaluation runs in the store's
//	    transaction, under the lock of the key. If one can, no lock is held while it
//	    runs.
//	W3. What a write has to find as it was when it is committed is its read set: the
//	    namespace of a create, the definition of a custom object, the quotas. commit
//	    looks at each a last time and notes the revision; the store compares it. What
//	    hooks have read (view.go), and the objects of new references, are in it
//	    as they were seen: when one has changed, the write is evaluated again.
type Write struct {
	Ref
	Opts    Options
	Change  Change
	Steps   []step         // between change and commit; nil: those of a new object, or of an update
	Creates bool           // the object must not exist, and its name may be generated
	deletes *DeleteOptions // of a delete, which changes the basis itself
	As      *Via           // admission sees this instead of the object; nil for the object
	Seen    []store.Seen   // what the caller has seen, and the change depends on; ErrChanged when it has changed
	Asks    bool           // the change asks the authorizer, which may be a webhook, where the object is missing
}

// Change returns the object to store in place of the basis. The basis is e.Shown, and its
// tree is e.Was; both have the version of the write, and must not be changed. A change hands
// the documents that it makes to e.Keep. A write that is evaluated again calls its change
// again, which then begins anew.
type Change func(e *Evaluation) (document.Value, error)

// step is a part of an evaluation. An error refuses the write.
type step func(e *Evaluation) error

// The steps of writes, in their order.
var (
	createSteps = []step{(*Evaluation).dropSystem, (*Evaluation).own, (*Evaluation).convert, (*Evaluation).admit, (*Evaluation).prepareNew,
		(*Evaluation).claimAddresses, (*Evaluation).validate, (*Evaluation).refuseVersion, (*Evaluation).checkOthers,
		(*Evaluation).collectWarnings, (*Evaluation).check, (*Evaluation).seal}
	updateSteps = []step{(*Evaluation).compareUID, (*Evaluation).own, (*Evaluation).convert, (*Evaluation).admit,
		(*Evaluation).compareRevision, (*Evaluation).prepare,
		(*Evaluation).claimAddresses, (*Evaluation).validate, (*Evaluation).checkOthers, (*Evaluation).collectWarnings, (*Evaluation).check, (*Evaluation).seal}
	// Each version of a custom resource has rules of its own: those of the version of
	// the write are followed, and the object is converted last.
	customCreateSteps = []step{(*Evaluation).dropSystem, (*Evaluation).own, (*Evaluation).admit, (*Evaluation).prepareNew,
		(*Evaluation).validate, (*Evaluation).refuseVersion, (*Evaluation).check, (*Evaluation).convertLast, (*Evaluation).seal}
	customUpdateSteps = []step{(*Evaluation).compareUID, (*Evaluation).own, (*Evaluation).admit, (*Evaluation).compareRevision, (*Evaluation).prepare,
		(*Evaluation).validate, (*Evaluation).check, (*Evaluation).convertLast, (*Evaluation).seal}
	// Changes that only the server may make follow none of the rules for updates.
	DirectSteps = []step{(*Evaluation).admit, (*Evaluation).check, (*Evaluation).seal}
	// Such a change by a request whose body was admitted needs no more than its storage.
	AdmittedSteps = []step{(*Evaluation).seal}
	// The server's changes of a status are recorded, and not reviewed.
	StatusSteps = []step{(*Evaluation).own, (*Evaluation).seal}
)

// Result is the result of a write. The entry is the stored one, or that of a write
// without the dry run; of a deletion it is the last state.
type Result struct {
	store.Entry
	Created bool
	removed bool // the object, by this write
	ending  ending
}

// Bounds of evaluations per write: with another generated name, and against another
// basis.
const (
	generateTries = 8
	basisTries    = 5
	claimTries    = 100 // with other addresses than those that other servers have just claimed
)

// claimsAgain reports whether an evaluation is worth another try, since another server has what it
// has claimed.
func claimsAgain(try int, err error) bool {
	return try < claimTries && errors.Is(err, allocate.ErrElsewhere)
}

// errStale ends a transaction whose basis has changed.
var errStale = errors.New("the basis of the write has changed")

// Write makes one change. Errors: those of the steps, 404, 409, 413, the store's, and
// store.ErrChanged if w.Seen does not stand.
func (o *Objects) Write(ctx context.Context, w *Write) (Result, error) {
	out, err := o.writeProviding(ctx, w)
	if errors.Is(err, store.ErrChanged) && len(w.Seen) == 0 || errors.Is(err, allocate.ErrElsewhere) {
		err = api.Conflict(w.Row.GroupResource(), w.Name, "the change depends on other objects that have been modified again and again while it was decided on; please try again")
	}
	if out.removed {
		o.removeEndpoints(ctx, w.Ref)
	}
	return out, err
}

func (o *Objects) write(ctx context.Context, w *Write) (Result, error) {
	if w.Row.Definition != nil {
		ctx = expression.WithMeter(ctx)
	}
	if w.Creates || o.waits(w, admission.Update) {
		return o.writeApart(ctx, w)
	}
	var e *Evaluation
	defer func() { e.abandon() }() // after a panic; otherwise finish was first
	key := w.Row.Key(w.Namespace, w.Name)
	decide := func(current *store.Entry) (store.Write, error) {
		e.abandon()
		if e = nil; current == nil && (w.Asks || o.waits(w, admission.Create)) {
			return store.Write{}, errWaits
		}
		e = newEvaluation(ctx, o, w, current)
		if err := e.run(); err != nil {
			return store.Write{}, err
		}
		if e.charges() || !e.moves().None() {
			return store.Write{}, errWaits
		}
		return e.commit()
	}
	entry, err := o.store.Update(ctx, key, decide)
	for try := 1; w.repeats(try, err) || claimsAgain(try, err); try++ {
		entry, err = o.store.Update(ctx, key, decide)
	}
	if errors.Is(err, errWaits) || errors.Is(err, errQuotas) {
		e.abandon()
		return o.writeApart(ctx, w)
	}
	return e.finish(key, entry, err)
}

// errWaits ends a transaction whose evaluation may block, or that needs other keys too.
var errWaits = errors.New("the evaluation may wait")

// waits reports whether a step of the write may block or take long, if it is one of this
// operation.
func (o *Objects) waits(w *Write, operation admission.Operation) bool {
	if w.writesWhole() || (w.deletes != nil || w.Steps == nil) && checksInView(w.Row.Storage(), w.deletes != nil) { // the code of a module
		return true
	}
	subresource := cmp.Or(w.subName(), w.Opts.Subresource)
	if w.deletes != nil {
		operation = admission.Delete
	}
	if w.As != nil {
		subresource, operation = w.As.Subresource, admission.Create
	}
	return w.deletes == nil && (w.Row.Versions.ConvertsRemotely() || ruled(w.Row)) || o.admission.Waits(operation, w.Row.Storage().Resource, subresource)
}

// writeApart makes one change whose evaluation may block, or whose key is not known
// before.
func (o *Objects) writeApart(ctx context.Context, w *Write) (Result, error) {
	ctx = expression.WithMeter(ctx)
	leave := func() {}
	defer func() { leave() }()
	for try, moved := 1, 0; ; try++ {
		var basis *store.Entry
		if !w.Creates {
			switch entry, err := o.store.Get(ctx, w.Row.Key(w.Namespace, w.Name)); {
			case err == nil:
				basis = &entry
			case !errors.Is(err, store.ErrNotFound):
				return Result{}, err
			}
		}
		if invariants.Enabled { // W1: an attempt that is abandoned leaves nothing
			abandoned := newEvaluation(ctx, o, w, basis)
			_ = abandoned.run()
			abandoned.abandon()
		}
		e := newEvaluation(ctx, o, w, basis)
		defer e.abandon() // after a panic; otherwise finish was first
		if err := e.run(); err != nil {
			return e.finish("", store.Entry{}, err)
		}
		name := e.obj.Get("metadata").Get("name").Text()
		key := w.Row.Key(w.Namespace, name)
		entry, err := e.store(key)
		for again := 1; len(e.reads) == 0 && w.repeats(again, err); again++ {
			entry, err = e.store(key)
		}
		if moved++; len(e.reads) > 0 && w.repeats(moved, err) { // what the evaluation has read
			if e.abandon(); moved == 1 {
				leave = o.turns.take(ctx, e.reads)
			}
			try--
			continue
		}
		switch stale, other := errors.Is(err, errStale), errors.Is(err, errQuotas); {
		case stale && w.Creates && (!e.generated || try == generateTries):
			err = api.AlreadyExists(w.Row.GroupResource(), name)
		case (stale && !w.Creates || other) && try >= basisTries:
			err = api.Conflict(w.Row.GroupResource(), name, "the object has been modified again and again while the change was decided on; please try again")
		case stale, other, claimsAgain(try, err):
			e.abandon()
			continue
		}
		return e.finish(key, entry, err)
	}
}

// sameBasis reports whether the basis of an evaluation is still the stored entry.
func sameBasis(basis, current *store.Entry) bool {
	if basis == nil || current == nil {
		return basis == current
	}
	return basis.Revision == current.Revision
}

// run evaluates the write: the result is e.made.
func (e *Evaluation) run() (err error) {
	if e.current != nil {
		if err = e.readBasis(); err != nil {
			return err
		}
	}
	if e.obj, err = e.Change(e); err != nil {
		return e.mistakesFirst(err)
	}
	return e.take()
}

// take runs the steps.
func (e *Evaluation) take() error {
	steps, custom := e.Steps, e.judgedAsWritten()
	switch {
	case steps != nil:
	case e.current == nil && custom:
		steps = customCreateSteps
	case custom:
		steps = customUpdateSteps
	case e.current == nil:
		steps = createSteps
	default:
		steps = updateSteps
	}
	for _, do := range steps {
		if err := do(e); err != nil {
			if ended := e.ctx.Err(); ended != nil { // the step may have failed because of that
				return ended
			}
			return err
		}
	}
	return nil
}

// mistakesFirst is err, or for kinds that check missing objects first the causes of the
// missing one, unless it names a uid.
func (e *Evaluation) mistakesFirst(err error) error {
	var missing, wrong *api.Error
	switch {
	case e.current != nil || !e.Row.CheckedWhenMissing || !e.obj.Exists() || e.obj.At("metadata", "uid").Text() != "":
		return err
	case !errors.As(err, &missing) || missing.Kind != e.Row.Plural && missing.Kind != e.stored.Row.Plural:
		return err
	}
	e.Write = &Write{Ref: e.Ref, Opts: e.Write.Opts}
	if e.Sub != nil { // nothing new is filled in through a subresource
		e.obj.Remove("status")
		e.Steps = []step{(*Evaluation).dropSystem, (*Evaluation).convert, (*Evaluation).validate}
	}
	e.Sub, e.stored.Sub = nil, nil
	if other := e.take(); errors.As(other, &wrong) && wrong.Reason == api.ReasonInvalid {
		return wrong
	}
	return err
}

// commit returns the evaluated write to the store, with its read set. The basis has not
// changed under the lock. It may run again, and then looks again.
func (e *Evaluation) commit() (store.Write, error) {
	e.given = false
	if err := e.look(); err != nil {
		return store.Write{}, err
	}
	if e.Opts.DryRun || e.made.Op == store.OpDelete && e.answersObject() {
		e.answer = notStored(e.current, e.obj, e.version)
	}
	if e.Opts.DryRun && e.Opts.Applied && e.current == nil && e.judgedAsWritten() {
		if err := e.showStored(); err != nil {
			return store.Write{}, err
		}
	}
	if e.Opts.DryRun {
		return store.Write{}, errDryRun
	}
	e.given = true
	return e.made, nil
}

// showStored makes the answer to a dry run of an apply that creates a custom object, as in
// 1.25: the object as it would be stored, with the defaults of the storage version, under
// the version that was sent.
func (e *Evaluation) showStored() error {
	doc, err := e.s.DecodeOwn(e.stored.Row, e.answer.Body)
	if err != nil {
		return err
	}
	defer doc.Release()
	e.answer.Body, err = convert.Rename(nil, e.stored.Row.Resource, e.Row.Resource, doc.Root().AppendJSON(nil))
	return err
}

// answersObject reports whether a deletion is answered with the object before it.
func (e *Evaluation) answersObject() bool {
	return e.Steps == nil || e.stored.Row.DeleteReturnsObject
}

// finish ends the last evaluation of a write, after the store's transaction, whose result
// is entry and err. e is nil if the store did not begin.
func (e *Evaluation) finish(key string, entry store.Entry, err error) (Result, error) {
	var missing *missingNamespace
	if e == nil || errors.As(err, &missing) {
		e.abandon() // it does not count
		return Result{}, err
	}
	defer e.release()
	settle(e.claim, key, e.given, err)
	e.claim, e.taken = nil, nil
	for _, p := range e.parts {
		p.taken = nil
	}
	if e.Opts.Author != nil {
		for _, text := range e.warnings {
			e.Opts.Author.Warn(text)
		}
		for _, note := range e.notes {
			e.Opts.Author.Annotate(note[0], note[1])
		}
	}
	out := Result{Created: e.made.Op == store.OpCreate, removed: err == nil && e.given && e.made.Op == store.OpDelete, ending: e.ending}
	switch {
	case errors.Is(err, ErrNothing):
		err = nil
	case errors.Is(err, errDryRun), err == nil && e.answer != nil:
		if e.made.Op == store.OpDelete && !e.Opts.DryRun && e.s.since("1.26") { // which shows when the object went
			e.answer = notStored(&entry, e.obj, "")
		}
		out.Entry, err = *e.answer, nil
		out.Key = key
	default:
		out.Entry = entry
	}
	return out, err
}

// errDryRun ends a transaction that must not write.
var errDryRun = errors.New("dry run")

// notStored is an answer that differs from the stored object: that of a dry run, or of an
// update that became a deletion. Its resourceVersion is that of the object that it replaces, or of the deletion;
// without one (nil), the one that was sent. The entry has no revision: nothing that is made
// of it may be kept for the stored object.
func notStored(current *store.Entry, obj document.Value, version string) *store.Entry {
	entry := &store.Entry{}
	if current != nil {
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
