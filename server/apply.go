package server

import (
	"errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

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
		if !errors.As(err, &wrong) || wrong.Mistake != document.NotInteger && wrong.Mistake != document.OutOfRange && wrong.Mistake != document.Malformed {
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
	out, err := s.applyTo(r, t.ref, a.doc.Root(), a)
	return s.respondWritten(r, out, err)
}

// applyTo merges a configuration of the target's kind, which a was sent as, into the
// object. What is wrong with its fields is told if there is no conflict.
func (s *Server) applyTo(r *request, t ref, config document.Value, a *applied) (result, error) {
	res, opts := t.resource, a.opts
	kind, as := &res.Ownership().Kind, s.fieldWrite(t, opts)
	return s.write(r.ctx, &write{ref: t, opts: opts, change: func(e *evaluation) (document.Value, error) {
		var missing error
		if e.shown == nil {
			if missing = s.mayApply(r, t, config.Get("metadata")); missing != nil && !res.CheckedWhenMissing {
				return document.Value{}, missing
			}
		}
		text, err := kind.Apply(e.was, config, as, opts.force)
		if told := (*api.Error)(nil); a.wrong != nil && !errors.As(err, &told) {
			return document.Value{}, a.wrong // whatever could not be done with it
		}
		if err != nil {
			return document.Value{}, err
		}
		if err := report(r, a.problems, kindOf(res), opts.validation); err != nil {
			return document.Value{}, err
		}
		doc, _, err := s.parse(text, kindOf(res), e.was)
		if err != nil {
			return document.Value{}, err
		}
		obj := e.keep(doc)
		if err := matchPatched(obj, t); err != nil {
			return document.Value{}, err
		}
		return obj, missing
	}})
}

// mayApply decides whether an apply may create the object.
func (s *Server) mayApply(r *request, t ref, meta document.Value) error {
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
