package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// create is POST on a collection.
func (s *Server) create(r *request) error {
	opts, err := r.writeOptions("CreateOptions")
	if err != nil {
		return err
	}
	doc, err := s.readObject(r, kindOf(r.target.resource), opts.validation)
	if err != nil {
		return err
	}
	defer doc.Release()
	entry, err := s.createServed(r.ctx, r.target, doc.Root(), opts)
	if err != nil {
		return err
	}
	return s.respondEntry(r, http.StatusCreated, entry)
}

// generateTries is how often a taken generated name is replaced by another.
const generateTries = 8

// createObject stores a new object, decoded and with its schema defaults. It
// is the one way in which objects come into being, for requests and for the
// server itself.
func (s *Server) createObject(ctx context.Context, res *catalog.Row, namespace string, obj document.Value, opts writeOptions) (store.Entry, error) {
	meta := obj.SetObject("metadata")
	if err := matchNamespace(res, meta, namespace); err != nil {
		return store.Entry{}, err
	}
	version, _ := strconv.ParseUint(meta.Get("resourceVersion").Text(), 10, 64) // other text names no version, and says nothing
	if err := s.namespaceAccepts(ctx, res, namespace, meta.Get("name").Text()); err != nil {
		return store.Entry{}, err
	}
	opts.dropRepeatedOwners(meta)
	dropSystemFields(meta) // nobody owns them
	if err := s.own(target{resource: res}, document.Value{}, obj, opts); err != nil {
		return store.Entry{}, err
	}
	prefix := meta.Get("generateName").Text()
	generate := meta.Get("name").Text() == "" && prefix != ""
	var claim *allocate.Claim
	for try := 1; ; try++ {
		if generate {
			meta.SetString("name", generateName(prefix))
		}
		s.prepareCreate(res, obj, namespace, opts.user)
		if err := s.admit(ctx, target{resource: res, namespace: namespace}, obj, document.Value{}); err != nil {
			claim.Release()
			return store.Entry{}, err
		}
		if try == 1 { // what is claimed is in the object from then on
			var err error
			if claim, err = s.services.claim(target{resource: res, namespace: namespace}, obj, document.Value{}, opts.dryRun); err != nil {
				return store.Entry{}, err
			}
		}
		if causes := append(validate(target{resource: res}, obj, document.Value{}), opts.causes...); len(causes) > 0 {
			claim.Release()
			name := meta.Get("name").Text()
			if generate {
				name = ""
			}
			return store.Entry{}, res.Invalid(name, causes)
		}
		if version != 0 {
			claim.Release()
			return store.Entry{}, api.BadRequest("resourceVersion should not be set on objects to be created, found \"%d\"", version)
		}
		if try == 1 {
			opts.warn(target{resource: res}, obj, document.Value{})
		}
		if err := s.checkAdmission(ctx, target{resource: res, namespace: namespace}, opts.user, obj, document.Value{}); err != nil {
			claim.Release()
			return store.Entry{}, err
		}
		entry, err := s.insert(ctx, res, namespace, obj, opts.dryRun)
		if generate && try < generateTries && isReason(err, api.ReasonAlreadyExists) {
			continue
		}
		settle(claim, res.Key(namespace, meta.Get("name").Text()), !opts.dryRun, err)
		return entry, err
	}
}

// insert is the store transaction of a create.
func (s *Server) insert(ctx context.Context, res *catalog.Row, namespace string, obj document.Value, dryRun bool) (store.Entry, error) {
	name := obj.Get("metadata").Get("name").Text()
	value, err := s.seal(res, obj)
	if err != nil {
		return store.Entry{}, err
	}
	if res.Namespaced {
		lock := s.births.lock(namespace)
		lock.RLock()
		defer lock.RUnlock()
		if err := s.namespaceAccepts(ctx, res, namespace, name); err != nil {
			return store.Entry{}, err
		}
	}
	entry, err := s.store.Update(ctx, res.Key(namespace, name), func(current *store.Entry) (store.Write, error) {
		if current != nil {
			return store.Write{}, api.AlreadyExists(res.GroupResource(), name)
		}
		if dryRun {
			return store.Write{}, errDryRun
		}
		return store.Write{Op: store.OpCreate, Value: value}, nil
	})
	if errors.Is(err, errDryRun) {
		return notStored(res.Key(namespace, name), obj, nil), nil
	}
	return entry, err
}

// errDryRun leaves a transaction that must not write.
var errDryRun = errors.New("dry run")

// notStored is an object as an answer that is not what the store holds: that of a
// dry run, or of an update that ended in a deletion. It is at the revision of
// the object that it replaces (nil where there is none).
func notStored(key string, obj document.Value, current *store.Entry) store.Entry {
	entry := store.Entry{Key: key}
	meta := obj.Get("metadata")
	if current == nil {
		meta.Remove("resourceVersion")
	} else {
		entry.Revision = current.Revision
		meta.SetString("resourceVersion", strconv.FormatUint(current.Revision, 10))
	}
	entry.Value = store.Value{Body: obj.AppendJSON(nil), RevisionAt: -1}
	return entry
}

// matchNamespace makes the object's namespace that of the path, or refuses it.
func matchNamespace(res *catalog.Row, meta document.Value, namespace string) error {
	if !res.Namespaced {
		meta.Remove("namespace")
		return nil
	}
	if ns := meta.Get("namespace").Text(); ns != "" && ns != namespace {
		return api.BadRequest("the namespace of the provided object does not match the namespace sent on the request: %q and %q", ns, namespace)
	}
	meta.SetString("namespace", namespace)
	return nil
}

// namespaceAccepts checks that the namespace exists and takes new content.
func (s *Server) namespaceAccepts(ctx context.Context, res *catalog.Row, namespace, name string) error {
	if !res.Namespaced {
		return nil
	}
	namespaces := s.core("namespaces")
	entry, err := s.store.Get(ctx, namespaces.Key("", namespace))
	if errors.Is(err, store.ErrNotFound) {
		return api.NotFound(namespaces.GroupResource(), namespace)
	}
	if err != nil {
		return err
	}
	if _, terminating := document.Find(entry.Body, "metadata", "deletionTimestamp"); terminating {
		e := api.Forbidden(res.GroupResource(), name, "unable to create new content in namespace "+namespace+" because it is being terminated")
		e.Causes = []api.Cause{{Reason: api.CauseNamespaceTerminating, Message: "namespace " + namespace + " is being terminated", Field: "metadata.namespace"}}
		return e
	}
	return nil
}

// prepareCreate sets what the server owns on a new object.
func (s *Server) prepareCreate(res *catalog.Row, obj document.Value, namespace string, user *authn.User) {
	meta := obj.Get("metadata")
	meta.Remove("selfLink")
	meta.SetString("uid", newUID())
	meta.SetString("creationTimestamp", s.now())
	if res.HasGeneration {
		meta.SetInt("generation", 1)
	}
	if res.HasStatus && !res.StatusOnCreate {
		obj.Remove("status")
		obj.SetObject("status")
	}
	res.Gated.Drop(obj, document.Value{})
	if res.Role == api.RoleSigningRequests {
		stampRequester(obj.SetObject("spec"), user)
	}
	if res.Hooks != nil && res.Hooks.Create != nil {
		res.Hooks.Create(obj)
	}
}
