package endpoints

import (
	"errors"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// bind assigns a pod to the node that the body names, the scheduler's final decision. The
// pod is that of the subresource, or else the body names it too.
func (x *Endpoints) bind(r *request.Request) error {
	pods, name := x.catalog.Snapshot().Core("pods"), r.Target.Name
	if r.Target.Sub != nil {
		pods = r.Target.Row
	}
	opts, err := r.WriteOptions("CreateOptions")
	if err != nil {
		return err
	}
	doc, err := x.receive(r, opts, posted{kind: bodyKind(r.Target), admit: x.asContent(r),
		meta: func(document.Value) {}, // has preconditions
		check: func(binding document.Value) error {
			if got := binding.At("metadata", "name").Text(); name == "" {
				name = got
			} else if got != name {
				return api.BadRequest("name in URL does not match name in Binding object")
			}
			return checkTarget(name, binding.Get("target"))
		}})
	if err != nil {
		return err
	}
	defer doc.Release()
	_, err = x.objects.Write(r.Context, &objects.Write{Ref: objects.Ref{Row: pods, Namespace: r.Target.Namespace, Name: name}, Opts: opts,
		Steps:  objects.AdmittedSteps,
		Change: objects.Editing(func(pod document.Value) error { return x.assign(pods, pod, doc.Root()) })})
	if err != nil {
		return err
	}
	return x.env.RespondStatus(r, http.StatusCreated, codec.Success(http.StatusCreated))
}

// checkTarget refuses a binding without a target, or to one that runs no pods.
func checkTarget(name string, target document.Value) error {
	var causes []api.Cause
	if kind := target.Get("kind").Text(); kind != "" && kind != "Node" {
		causes = append(causes, api.NotSupported("target.kind", kind, "Node", "<empty>"))
	}
	if target.Get("name").Text() == "" {
		causes = append(causes, api.Cause{Reason: schema.CauseRequired, Field: "target.name", Message: "Required value"})
	}
	if causes == nil {
		return nil
	}
	return api.Invalid("", "Binding", name, causes)
}

// assign writes the node into the pod.
func (x *Endpoints) assign(pods *catalog.Row, pod, binding document.Value) error {
	meta := pod.Get("metadata")
	name := meta.Get("name").Text()
	conflict := func(why string) error {
		return api.Conflict(api.GroupResource{Resource: pods.Plural + "/binding"}, name, why)
	}
	if err := objects.CheckPreconditions(pods, name, binding.Get("metadata"), meta, false); err != nil {
		var known *api.Error
		if errors.As(err, &known) && known.Reason == api.ReasonConflict {
			return conflict(known.Message)
		}
		return err
	}
	if meta.Get("deletionTimestamp").Exists() {
		return conflict("pod " + name + " is being deleted, cannot be assigned to a host")
	}
	spec := pod.SetObject("spec")
	if node := spec.Get("nodeName").Text(); node != "" {
		return conflict("pod " + name + " is already assigned to node \"" + node + "\"")
	}
	if !spec.Get("schedulingGates").IsNothing() {
		return conflict("pod " + name + " has non-empty .spec.schedulingGates")
	}
	spec.SetString("nodeName", binding.At("target", "name").Text())
	for key, value := range binding.At("metadata", "annotations").Members() {
		meta.SetObject("annotations").SetString(key, value.Text())
	}
	if x.features.On("PodTopologyLabelsAdmission") {
		for key, value := range binding.At("metadata", "labels").Members() {
			meta.SetObject("labels").SetString(key, value.Text())
		}
	}
	if x.features.On("ClearingNominatedNodeNameAfterBinding") {
		pod.SetObject("status").Remove("nominatedNodeName")
	}
	x.setPodCondition(pod, api.Condition{Type: "PodScheduled", Status: "True"})
	return nil
}

// setPodCondition writes a condition into the status of a pod. Nobody has probed it.
func (x *Endpoints) setPodCondition(pod document.Value, c api.Condition) {
	condition := c.Set(pod.SetObject("status").SetArray("conditions"), x.objects.Now())
	if !condition.Get("lastProbeTime").Exists() {
		condition.SetNull("lastProbeTime")
	}
}
