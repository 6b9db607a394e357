package endpoints

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// The ephemeralcontainers subresource of a pod shows the pod and changes nothing
// but spec.ephemeralContainers, to which containers can only be added.

func (x *Endpoints) updateEphemeral(r *request.Request) error {
	opts, err := r.WriteOptions("UpdateOptions")
	if err != nil {
		return err
	}
	doc, err := x.env.ReadObject(r, request.KindOf(r.Target.Row), opts.Validation)
	if err != nil {
		return err
	}
	defer doc.Release()
	if err := objects.MatchPatched(doc.Root(), r.Target.Ref); err != nil {
		return err
	}
	return x.writeEphemeral(r, opts, func(*objects.Evaluation) (document.Value, error) { return doc.Root(), nil })
}

func (x *Endpoints) patchEphemeral(r *request.Request) error {
	p, err := x.verbs.ReadPatch(r)
	if err != nil {
		return err
	}
	want := request.KindOf(r.Target.Row)
	p.Check(want)
	return x.writeEphemeral(r, p.Opts, func(e *objects.Evaluation) (document.Value, error) {
		text, err := p.Apply(e.Shown.Body, want)
		if err != nil {
			return document.Value{}, err
		}
		doc, err := x.verbs.DecodePatched(r, text, document.Value{}, p, want)
		if err != nil {
			return document.Value{}, err
		}
		obj := e.Keep(doc)
		return obj, objects.MatchPatched(obj, r.Target.Ref)
	})
}

// writeEphemeral stores the ephemeral containers of the pod that wanted returns for the
// current one.
func (x *Endpoints) writeEphemeral(r *request.Request, opts objects.Options, wanted objects.Change) error {
	out, err := x.objects.Write(r.Context, &objects.Write{Ref: r.Target.Ref, Opts: opts, Steps: objects.DirectSteps,
		Change: func(e *objects.Evaluation) (document.Value, error) {
			return objects.Editing(func(pod document.Value) error {
				obj, err := wanted(e)
				if err != nil {
					return err
				}
				if err := addEphemeral(e, pod, obj); err != nil || !x.cfg.Since("1.33") {
					return err
				}
				return x.ownEphemeral(r, e, pod, obj, opts)
			})(e)
		}})
	return x.verbs.RespondWritten(r, out, err)
}

// ownEphemeral records, from 1.33 on, the sender as the owner of all changes of the sent pod, also of those that are not stored.
func (x *Endpoints) ownEphemeral(r *request.Request, e *objects.Evaluation, pod, sent document.Value, opts objects.Options) error {
	if err := x.objects.Own(r.Context, r.Target.Ref, e.Was, sent, opts); err != nil {
		return err
	}
	pod.SetObject("metadata").Put("managedFields", sent.At("metadata", "managedFields"))
	return nil
}

// addEphemeral copies the ephemeral containers of a sent pod to the stored one.
func addEphemeral(e *objects.Evaluation, pod, sent document.Value) error {
	if err := objects.CheckPreconditions(e.Row, e.Name, sent.Get("metadata"), pod.Get("metadata"), false); err != nil {
		return err
	}
	spec, containers := pod.Get("spec"), sent.At("spec", "ephemeralContainers")
	lost := keepsContainers(containers, spec.Get("ephemeralContainers"))
	if containers.Exists() {
		spec.Put("ephemeralContainers", containers)
	} else {
		spec.Remove("ephemeralContainers")
	}
	if e.Row.HasGeneration && !document.Equal(containers, e.Was.At("spec", "ephemeralContainers")) {
		n, _ := e.Was.At("metadata", "generation").Int()
		pod.Get("metadata").SetInt("generation", n+1)
	}
	// Nothing else has changed, so the pod is its own old state for the rules of changes.
	if causes := append(objects.ValidateChange(objects.Ref{Row: e.Row}, pod, pod, e.Was), lost...); len(causes) > 0 {
		return e.Row.Invalid(e.Name, causes)
	}
	return nil
}

// keepsContainers checks that no container was removed or changed.
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
