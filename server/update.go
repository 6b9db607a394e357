package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// update is PUT on an object or on its status.
func (s *Server) update(r *request) error {
	opts, err := r.writeOptions("UpdateOptions")
	if err != nil {
		return err
	}
	t := r.target
	doc, err := s.readReplacement(r, opts.validation)
	if err != nil {
		return err
	}
	defer doc.Release()
	obj := doc.Root()
	meta := obj.SetObject("metadata")
	if err := matchName(meta, t.name); err != nil {
		return err
	}
	if err := matchNamespace(t.resource, meta, t.namespace); err != nil {
		return err
	}
	lock := s.births.lock(t.namespace)
	lock.RLock()
	defer lock.RUnlock()
	created := false
	entry, err := s.transact(r.ctx, t, opts, func(current *store.Entry, old document.Value) (document.Value, error) {
		if current == nil {
			created = true
			return obj, s.mayCreate(r.ctx, t, meta)
		}
		if uid := meta.Get("uid").Text(); uid != "" && uid != old.At("metadata", "uid").Text() {
			return obj, nil // another object: that is told first
		}
		return obj, checkConditional(t, meta)
	})
	if err != nil {
		return err
	}
	if created {
		return s.respondEntry(r, http.StatusCreated, entry)
	}
	return s.respondEntry(r, http.StatusOK, entry)
}

// readReplacement reads the body of a PUT. What it has in common with the object
// that is there now is not walked; that another write may come in between does
// not matter, since that too was valid at its time.
func (s *Server) readReplacement(r *request, validation string) (*document.Document, error) {
	res := r.target.resource
	text, err := s.toJSON(r.http.Header.Get("Content-Type"), r.body, kindOf(res))
	if err != nil {
		return nil, err
	}
	var old *document.Document
	switch current, err := s.store.Get(r.ctx, r.key()); {
	case err == nil && res.Conversion != nil: // it has nothing in common that could be told by its bytes
	case err == nil:
		if old, err = document.ReadStored(res.GV.Table, res.Type, current.Body); err != nil {
			return nil, err
		}
		defer old.Release()
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	return s.decode(r, text, kindOf(res), old.Root(), validation)
}

// mayCreate decides whether a PUT of a missing object creates it: only when
// nothing in it says that it existed, so that a controller's late update does
// not bring back what was deleted.
func (s *Server) mayCreate(ctx context.Context, t target, meta document.Value) error {
	if t.sub != nil || meta.Get("uid").Exists() || meta.Get("resourceVersion").Exists() {
		return api.NotFound(t.resource.GroupResource(), t.name)
	}
	return s.namespaceAccepts(ctx, t.resource, t.namespace, t.name)
}

func matchName(meta document.Value, name string) error {
	switch got := meta.Get("name").Text(); got {
	case name:
	case "":
		return api.BadRequest("the name of the object is missing: it has to be %s, as on the URL", name)
	default:
		return api.BadRequest("the name of the object (%s) does not match the name on the URL (%s)", got, name)
	}
	return nil
}

// nextFunc gives the object to store in place of the current one.
type nextFunc func(current *store.Entry, old document.Value) (document.Value, error)

// transact is the one read-modify-write of update, patch and scale. next gives
// the object to store, from the current one (nil where there is none) and that as
// a tree, which it must not change; it runs once, under the key's lock. Both are in
// the version of the target, what is returned is in the one that is stored.
func (s *Server) transact(ctx context.Context, t target, opts writeOptions, next nextFunc) (store.Entry, error) {
	step := next
	if t.resource.Conversion != nil {
		served := &servedWrite{s: s, t: t, opts: &opts}
		defer served.release()
		step = func(current *store.Entry, old document.Value) (document.Value, error) {
			return served.next(current, old, next)
		}
		t = t.stored()
	}
	var answer store.Entry // when it is not what the store holds afterwards
	var claim *allocate.Claim
	key := t.resource.Key(t.namespace, t.name)
	entry, err := s.store.Update(ctx, key, func(current *store.Entry) (store.Write, error) {
		var oldDoc *document.Document
		if current != nil {
			var err error
			if oldDoc, err = document.ReadStored(t.resource.GV.Table, t.resource.Type, current.Body); err != nil {
				return store.Write{}, err
			}
			defer oldDoc.Release()
		}
		old := oldDoc.Root()
		obj, err := step(current, old)
		if err != nil {
			return store.Write{}, s.mistakesFirst(ctx, t, current, obj, opts, &claim, err)
		}
		write, err := s.replacement(ctx, t, current, obj, old, opts, &claim)
		if err == nil && (opts.dryRun || write.Op == store.OpDelete) {
			answer = notStored(key, obj, current)
		}
		if err == nil && opts.dryRun {
			err = errDryRun
		}
		return write, err
	})
	settle(claim, key, answer.Key == "", err)
	if errors.Is(err, errDryRun) || err == nil && answer.Key != "" {
		return answer, nil
	}
	return entry, err
}

// mistakesFirst is err, or where a kind's missing objects are checked first what is
// wrong with the one that was to be there, unless that is one of which it says the uid.
func (s *Server) mistakesFirst(ctx context.Context, t target, current *store.Entry, obj document.Value, opts writeOptions, claim **allocate.Claim, err error) error {
	var missing, wrong *api.Error
	switch {
	case current != nil || !t.resource.CheckedWhenMissing || !obj.Exists() || obj.At("metadata", "uid").Text() != "":
		return err
	case !errors.As(err, &missing) || missing.Kind != t.resource.Plural:
		return err
	}
	t.sub = nil
	if _, other := s.replacement(ctx, t, nil, obj, document.Value{}, opts, claim); errors.As(other, &wrong) && wrong.Reason == api.ReasonInvalid {
		return wrong
	}
	return err
}

// replacement turns obj, which is to replace current, of which old is the tree,
// into the write to make. What it claims for it goes to claim.
func (s *Server) replacement(ctx context.Context, t target, current *store.Entry, obj, old document.Value, opts writeOptions, claim **allocate.Claim) (store.Write, error) {
	res := t.resource
	var err error
	opts.dropRepeatedOwners(obj.Get("metadata"))
	if current == nil {
		return s.birth(ctx, t, obj, opts, claim)
	}
	if err := checkPreconditions(res, t.name, obj.Get("metadata"), old.Get("metadata"), opts.patched); err != nil {
		return store.Write{}, err
	}
	if err := s.own(t, old, obj, opts); err != nil {
		return store.Write{}, err
	}
	prepareUpdate(t, obj, old)
	if res.Role == api.RoleSigningRequests && t.writesStatus() {
		opts.causes = append(opts.causes, prepareSigning(t.sub.Endpoint, obj, old, s.now())...)
	}
	if err := s.admit(ctx, t, obj, old); err != nil {
		return store.Write{}, err
	}
	if *claim, err = s.services.claim(t, obj, old, opts.dryRun); err != nil {
		return store.Write{}, err
	}
	if causes := append(validate(t, obj, old), opts.causes...); len(causes) > 0 {
		return store.Write{}, res.Invalid(t.name, causes)
	}
	opts.warn(t, obj, old)
	if err := s.checkAdmission(ctx, t, opts.user, obj, old); err != nil {
		return store.Write{}, err
	}
	apply.KeepTimes(obj, old)
	if finished(obj) {
		// What watchers see last is what was there last.
		value, err := s.seal(res, old)
		return store.Write{Op: store.OpDelete, Value: value}, err
	}
	value, err := s.seal(res, obj)
	if err != nil {
		return store.Write{}, err
	}
	if stored.Unchanged(value, current) {
		return store.Write{}, nil
	}
	return store.Write{Op: store.OpUpdate, Value: value, Frees: obj.At("metadata", "deletionTimestamp").Exists()}, nil
}

// birth is replacement where there is no object yet.
func (s *Server) birth(ctx context.Context, t target, obj document.Value, opts writeOptions, claim **allocate.Claim) (store.Write, error) {
	res := t.resource
	var err error
	if !opts.patched { // what an apply says is deleted is created so, as in 1.25
		dropSystemFields(obj.Get("metadata"))
	}
	if err := s.own(t, document.Value{}, obj, opts); err != nil {
		return store.Write{}, err
	}
	s.prepareCreate(res, obj, t.namespace, opts.user)
	if err := s.admit(ctx, t, obj, document.Value{}); err != nil {
		return store.Write{}, err
	}
	if *claim, err = s.services.claim(t, obj, document.Value{}, opts.dryRun); err != nil {
		return store.Write{}, err
	}
	if causes := append(validate(t, obj, document.Value{}), opts.causes...); len(causes) > 0 {
		return store.Write{}, res.Invalid(t.name, causes)
	}
	opts.warn(t, obj, document.Value{})
	if err := s.checkAdmission(ctx, t, opts.user, obj, document.Value{}); err != nil {
		return store.Write{}, err
	}
	value, err := s.seal(res, obj)
	return store.Write{Op: store.OpCreate, Value: value}, err
}

// checkConditional refuses what replaces an object that exists without the version that
// its resource demands.
func checkConditional(t target, meta document.Value) error {
	if v := meta.Get("resourceVersion").Text(); v != "" && v != "0" || !t.resource.Storage().ConditionalUpdate {
		return nil
	}
	return api.Invalid(t.resource.GV.Group, t.resource.Plural, t.name, []schema.Cause{{Reason: schema.CauseInvalid, Field: "metadata.resourceVersion",
		Message: "Invalid value: 0x0: must be specified for an update"}})
}

// checkPreconditions compares what the object says of itself with what is
// stored (optimistic locking).
func checkPreconditions(res *catalog.Row, name string, meta, old document.Value, patched bool) error {
	if err := checkUID(res, name, meta, old, patched); err != nil {
		return err
	}
	return checkRevision(res, name, meta, old)
}

// checkUID compares the uid. A patch that changes it is no condition, but a change
// that is not allowed.
func checkUID(res *catalog.Row, name string, meta, old document.Value, patched bool) error {
	if uid := meta.Get("uid").Text(); !patched && uid != "" && uid != old.Get("uid").Text() {
		return api.Conflict(res.GroupResource(), name, "Precondition failed: UID in precondition: "+uid+", UID in object meta: "+old.Get("uid").Text())
	}
	return nil
}

// checkRevision compares the version.
func checkRevision(res *catalog.Row, name string, meta, old document.Value) error {
	asked, set, err := parseRevision(meta.Get("resourceVersion").Text())
	if err != nil {
		return err
	}
	if set && asked != 0 && meta.Get("resourceVersion").Text() != old.Get("resourceVersion").Text() {
		return api.Conflict(res.GroupResource(), name, "the object has been modified; please apply your changes to the latest version and try again")
	}
	return nil
}

// prepareUpdate gives obj what the server owns from the object it replaces. The
// status endpoint may change nothing but status (and some metadata), the main
// one everything else.
func prepareUpdate(t target, obj, old document.Value) {
	res := t.resource
	meta, oldMeta := obj.Get("metadata"), old.Get("metadata")
	for _, field := range [...]string{"creationTimestamp", "generation", "selfLink"} {
		keepMember(meta, oldMeta, field)
	}
	if v := oldMeta.Get("deletionTimestamp"); v.Exists() {
		meta.Put("deletionTimestamp", v)
	}
	for _, field := range [...]string{"uid", "deletionGracePeriodSeconds"} {
		if v := oldMeta.Get(field); v.Exists() && !meta.Get(field).Exists() {
			meta.Put(field, v)
		}
	}
	status := t.writesStatus()
	finalize := t.sub != nil && t.sub.Endpoint == api.EndpointFinalize
	if res.HasStatus {
		for name := range old.Members() {
			if !kept(name) && (name == "status") != status {
				obj.Put(name, old.Get(name))
			}
		}
		if status {
			removeAdded(obj, old)
		} else if !old.Get("status").Exists() {
			obj.Remove("status")
		}
	}
	if t.sub != nil {
		keep(obj, old, t.sub.Keeps)
	} else {
		keep(obj, old, res.Keeps)
	}
	res.Gated.Drop(obj, old)
	switch {
	case res.Hooks == nil || finalize:
	case status && res.Hooks.Status != nil:
		res.Hooks.Status(obj, old)
	case !status && res.Hooks.Update != nil:
		res.Hooks.Update(obj, old)
	}
	if res.HasGeneration && !status && specChanged(obj, old) {
		n, _ := oldMeta.Get("generation").Int()
		meta.SetInt("generation", n+1)
	}
}

// kept are the members that every endpoint may send.
func kept(name string) bool { return name == "apiVersion" || name == "kind" || name == "metadata" }

// removeAdded drops the members that the status endpoint may not add.
func removeAdded(obj, old document.Value) {
	var added []string
	for name := range obj.Members() {
		if !kept(name) && name != "status" && !old.Get(name).Exists() {
			added = append(added, name)
		}
	}
	for _, name := range added {
		obj.Remove(name)
	}
}

// specChanged reports whether anything but metadata and status differs.
func specChanged(obj, old document.Value) bool {
	for name, v := range obj.Members() {
		if !kept(name) && name != "status" && !document.Equal(v, old.Get(name)) {
			return true
		}
	}
	for name := range old.Members() {
		if !kept(name) && name != "status" && !obj.Get(name).Exists() {
			return true
		}
	}
	return false
}

// finished reports whether a terminating object has nothing left to wait for.
func finished(obj document.Value) bool {
	meta := obj.Get("metadata")
	if !meta.Get("deletionTimestamp").Exists() || meta.Get("finalizers").Len() > 0 {
		return false
	}
	grace, _ := meta.Get("deletionGracePeriodSeconds").Int()
	return grace == 0 && obj.At("spec", "finalizers").Len() == 0
}
