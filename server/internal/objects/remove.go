package objects

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// removal is one step of the delete of an object: it removes the object, or changes the
// object in place to one that is terminating.
type removal struct {
	o         *Objects
	res       *catalog.Row
	obj, meta document.Value
	opts      *DeleteOptions
	first     bool // no earlier delete has marked the object as terminating
	changed   bool // by this step
}

// removal decides about the object of a delete, and makes the write.
func (e *Evaluation) removal() (store.Write, ending, error) {
	meta := e.obj.Get("metadata")
	r := removal{o: e.s, res: e.stored.Row, obj: e.obj, meta: meta, opts: e.deletes, first: !meta.Get("deletionTimestamp").Exists()}
	next := r.decide()
	switch {
	case next == ended:
		value, err := stored.Last(e.current, e.space)
		return store.Write{Op: store.OpDelete, Value: value}, ended, err
	case !r.changed:
		return store.Write{}, next, nil
	}
	value, err := e.s.seal(r.res, e.obj, e.space)
	if err != nil || next == endsLater && stored.Unchanged(value, e.current) {
		return store.Write{}, endsLater, err
	}
	return store.Write{Op: store.OpUpdate, Value: value, Frees: true}, next, nil
}

// decide changes the object by the options of the delete, and decides whether it has to
// wait.
func (r *removal) decide() ending {
	if awaitsContent(r.res, r.obj) {
		return endsLater
	}
	grace := int64(0)
	if r.res.Graceful != nil {
		if grace = r.grace(); !r.first && !r.changed && grace > 0 {
			return endsLater // the grace period of the first delete goes on
		}
	}
	shown := r.res.Graceful != nil && (r.first || r.changed) // watchers see an object whose time is over before it goes
	if setPropagation(r.meta, propagation(r.res, r.meta, r.opts.Propagation)) {
		r.changed = true
	}
	if r.res.Role == api.RoleDefinitions && r.first {
		r.o.holdDefinition(r.obj)
	}
	switch {
	case grace > 0 || r.held():
		r.wait(grace)
		return endsLater
	case shown:
		if r.first {
			r.o.markTerminating(r.meta, grace)
			r.moveGeneration()
		}
		r.changed = true
		return endsNext
	}
	return ended
}

// grace is the rest of the object's grace period in seconds, which a further delete may
// shorten.
func (r *removal) grace() int64 {
	if r.first {
		return graceOf(r.res.Resource, r.obj, r.opts.Grace)
	}
	r.changed = shortenGrace(r.meta, r.opts.Grace)
	return timeLeft(r.meta)
}

// held reports whether something has to happen before the object may go: its finalizers are
// removed, or a namespace becomes empty.
func (r *removal) held() bool {
	return r.meta.Get("finalizers").Len() > 0 || r.obj.At("spec", "finalizers").Len() > 0 || IsNamespace(r.res) && r.first
}

// moveGeneration counts the begin of a deletion as a change by a user.
func (r *removal) moveGeneration() {
	if n, ok := r.meta.Get("generation").Int(); ok && n > 0 && r.res.Role != api.RoleDefinitions {
		r.meta.SetInt("generation", n+1)
	}
}

// wait makes the object one that is terminating. A namespace or a definition, which the first
// delete only marks, shows the grace period with a further one, as in 1.25.
func (r *removal) wait(grace int64) {
	marked := IsNamespace(r.res) || r.res.Role == api.RoleDefinitions
	switch {
	case r.first:
		r.o.markTerminating(r.meta, grace)
		if marked {
			r.meta.Remove("deletionGracePeriodSeconds")
		}
		r.moveGeneration()
		r.changed = true
	case marked:
		r.meta.SetInt("deletionGracePeriodSeconds", 0)
		r.changed = true
	}
	if IsNamespace(r.res) {
		r.obj.SetObject("status").SetString("phase", "Terminating")
		r.changed = true
	}
}
