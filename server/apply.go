package server

import (
	"errors"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
)

// applies reports whether the request is a server-side apply.
func (r *request) applies() bool {
	return r.http.Method == http.MethodPatch && r.media() == applyPatch
}

// applied is a configuration as it was sent.
type applied struct {
	doc      *document.Document // untyped
	opts     writeOptions
	problems []string // unknown fields, and those that it has twice
	wrong    error    // of a value that its field cannot hold, or nil
}

// readApplied reads the configuration, which is of the wanted kind. Its fields are
// checked as those of any body; numbers and strings that only a closer look finds wrong
// are told of once there is no conflict, as in 1.25.
func (s *Server) readApplied(r *request, want bodyKind) (*applied, error) {
	opts, err := r.writeOptions("PatchOptions")
	if err != nil {
		return nil, err
	}
	opts.applied, opts.patched = true, true
	text, err := fromYAML(r.body)
	if err != nil {
		return nil, err
	}
	plain := want
	plain.gv = nil // without defaults
	doc, err := document.DecodeAny(text, s.decodeLimits)
	if err != nil {
		return nil, want.refuse(err.Error())
	}
	a := &applied{doc: doc, opts: opts}
	if err := s.checkApplied(r, a, text, plain); err != nil {
		doc.Release()
		return nil, err
	}
	return a, nil
}

// checkApplied finds what is wrong with the fields of a configuration.
func (s *Server) checkApplied(r *request, a *applied, text []byte, want bodyKind) error {
	typed, found, err := s.read(text, want, document.Value{})
	typed.Release()
	if err != nil {
		var wrong *document.TypeError
		if !errors.As(err, &wrong) || wrong.Mistake != document.NoInteger && wrong.Mistake != document.Misspelt {
			return want.refused(err)
		}
		a.wrong = want.refused(err)
	}
	a.problems = r.describe(found)
	return nil
}

// apply is PATCH with an apply configuration, on an object or on its status. It
// creates the object where there is none.
func (s *Server) apply(r *request) error {
	t := r.target
	want := kindOf(t.resource)
	a, err := s.readApplied(r, want)
	if err != nil {
		return err
	}
	defer a.doc.Release()
	entry, created, err := s.applyTo(r, t, a.doc.Root(), a)
	if err != nil {
		return err
	}
	if created {
		return s.respondEntry(r, http.StatusCreated, entry)
	}
	return s.respondEntry(r, http.StatusOK, entry)
}

// applyTo merges a configuration of the target's kind, which a was sent as, into the
// object. What is wrong with its fields is told if there is no conflict.
func (s *Server) applyTo(r *request, t target, config document.Value, a *applied) (entry store.Entry, created bool, err error) {
	res, opts := t.resource, a.opts
	kind := &res.Ownership().Kind
	w := s.fieldWrite(t, opts)
	var doc *document.Document
	defer func() { doc.Release() }()
	lock := s.births.lock(t.namespace)
	lock.RLock()
	defer lock.RUnlock()
	entry, err = s.transact(r.ctx, t, opts, func(current *store.Entry, live document.Value) (document.Value, error) {
		var missing error
		if current == nil {
			created = true
			if missing = s.mayApply(r, t, config.Get("metadata")); missing != nil && !t.resource.CheckedWhenMissing {
				return live, missing
			}
		}
		text, err := kind.Apply(live, config, w, opts.force)
		if err != nil {
			return live, err
		}
		if a.wrong != nil {
			return live, a.wrong
		}
		if err := report(r, a.problems, kindOf(res), opts.validation); err != nil {
			return live, err
		}
		if doc, _, err = s.parse(text, kindOf(res), live); err != nil {
			return document.Value{}, err
		}
		if err := matchPatched(doc.Root(), t); err != nil {
			return document.Value{}, err
		}
		return doc.Root(), missing
	})
	return entry, created, err
}

// mayApply decides whether an apply may create the object.
func (s *Server) mayApply(r *request, t target, meta document.Value) error {
	gr := t.resource.GroupResource()
	if t.sub != nil || t.resource.Verbs&api.VerbCreate == 0 {
		return api.NotFound(gr, t.name)
	}
	if uid := meta.Get("uid").Text(); uid != "" {
		return api.Conflict(gr, t.name, "uid mismatch: the provided object specified uid "+uid+", and no existing object was found")
	}
	if meta.Get("resourceVersion").Text() != "" {
		return api.NotFound(gr, t.name)
	}
	return s.namespaceAccepts(r.ctx, t.resource, t.namespace, t.name)
}

// applyScale is PATCH of a scale with an apply configuration: one of the scaled
// object with nothing in it but the replicas.
func (s *Server) applyScale(r *request) error {
	t := r.target
	a, err := s.readApplied(r, subKind(t))
	if err != nil {
		return err
	}
	defer a.doc.Release()
	if meta := a.doc.Root().SetObject("metadata"); meta.Get("name").Text() == "" {
		meta.SetString("name", t.name) // it need not say
	}
	if err := matchPatched(a.doc.Root(), t); err != nil {
		return err
	}
	if err := apply.CheckStated(a.doc.Root(), subKind(t).apiVersion); err != nil {
		return err
	}
	main := t
	main.sub = nil
	a.opts.subresource = t.sub.Name
	config, err := document.DecodeAny([]byte("{}"), s.decodeLimits)
	if err != nil {
		return err
	}
	defer config.Release()
	want := kindOf(t.resource)
	root := config.Root()
	root.SetString("apiVersion", want.apiVersion)
	root.SetString("kind", want.kind)
	root.SetObject("metadata").SetString("name", t.name)
	for _, field := range []string{"uid", "resourceVersion"} {
		if v := a.doc.Root().At("metadata", field); v.Exists() {
			root.Get("metadata").Put(field, v)
		}
	}
	if replicas := a.doc.Root().At("spec", "replicas"); replicas.Exists() {
		at := root
		path := t.sub.Scale.SpecReplicas
		for _, name := range path[:len(path)-1] {
			at = at.SetObject(name)
		}
		at.Put(path[len(path)-1], replicas)
	}
	entry, err := s.store.Get(r.ctx, r.key())
	if err != nil || entry.Key == "" {
		return api.NotFound(t.resource.GroupResource(), t.name)
	}
	if entry, _, err = s.applyTo(r, main, root, a); err != nil {
		return err
	}
	return s.respondScale(r, entry)
}
