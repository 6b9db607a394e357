package server

import (
	"net/http"
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// The ephemeralcontainers subresource of a pod shows the pod and changes nothing
// but spec.ephemeralContainers, to which containers can only be added.

func (s *Server) updateEphemeral(r *request) error {
	opts, err := r.writeOptions("UpdateOptions")
	if err != nil {
		return err
	}
	doc, err := s.readObject(r, kindOf(r.target.resource), opts.validation)
	if err != nil {
		return err
	}
	defer doc.Release()
	if err := matchPatched(doc.Root(), r.target); err != nil {
		return err
	}
	return s.writeEphemeral(r, opts.dryRun, func(document.Value) (document.Value, error) { return doc.Root(), nil })
}

func (s *Server) patchEphemeral(r *request) error {
	p, err := s.readPatch(r)
	if err != nil {
		return err
	}
	var doc *document.Document
	defer func() { doc.Release() }()
	want := kindOf(r.target.resource)
	p.check(want)
	return s.writeEphemeral(r, p.opts.dryRun, func(pod document.Value) (document.Value, error) {
		text, err := p.apply(pod.AppendJSON(nil), want)
		if err != nil {
			return document.Value{}, err
		}
		if doc, err = s.decodePatched(r, text, document.Value{}, p, want); err != nil {
			return document.Value{}, err
		}
		return doc.Root(), matchPatched(doc.Root(), r.target)
	})
}

// writeEphemeral stores the ephemeral containers of the pod that wanted gives
// for the current one.
func (s *Server) writeEphemeral(r *request, dryRun bool, wanted func(pod document.Value) (document.Value, error)) error {
	t := r.target
	entry, err := s.modify(r.ctx, t.resource, t.namespace, t.name, dryRun, func(pod document.Value) error {
		obj, err := wanted(pod)
		if err != nil {
			return err
		}
		if err := checkPreconditions(t.resource, t.name, obj.Get("metadata"), pod.Get("metadata"), false); err != nil {
			return err
		}
		before, err := document.ReadStored(t.resource.GV.Table, t.resource.Type, pod.AppendJSON(nil))
		if err != nil {
			return err
		}
		defer before.Release()
		spec, containers := pod.Get("spec"), obj.At("spec", "ephemeralContainers")
		causes := keepsContainers(containers, spec.Get("ephemeralContainers"))
		if containers.Exists() {
			spec.Put("ephemeralContainers", containers)
		} else {
			spec.Remove("ephemeralContainers")
		}
		// Nothing else has changed, so the pod is its own old state for the rules of changes.
		if causes = append(causes, validateChange(target{resource: t.resource}, pod, pod, before.Root())...); len(causes) > 0 {
			return t.resource.Invalid(t.name, causes)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.respondEntry(r, http.StatusOK, entry)
}

// keepsContainers checks that no container was taken away or changed.
func keepsContainers(now, before document.Value) (causes []schema.Cause) {
	there := map[string]document.Value{}
	for _, c := range now.Elements() {
		there[c.Get("name").Text()] = c
	}
	for _, old := range before.Elements() {
		name := old.Get("name").Text()
		why := ""
		if c, ok := there[name]; !ok {
			why = "removed"
		} else if !document.Equal(c, old) {
			why = "changed"
		}
		if why != "" && len(causes) < document.MaxCauses {
			causes = append(causes, schema.Cause{Reason: schema.CauseForbidden, Field: "spec.ephemeralContainers",
				Message: "Forbidden: existing ephemeral containers " + strconv.Quote(name) + " may not be " + why})
		}
	}
	return causes
}
