package admission

import (
	"context"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// Plug-ins for groups of pods that are scheduled together.

const groupsOfPods = "scheduling." + profile.GroupSuffix

// protectGroup gives a group of pods a finalizer, which a controller removes when no pod is in the group.
func (c *Chain) protectGroup(_ context.Context, r *Request) error {
	if r.Operation == Create && r.is(groupsOfPods, "podgroups") {
		addFinalizer(r.Object, groupsOfPods+"/podgroup-protection")
	}
	return nil
}

// groupPriority turns the name of the priority class of a group of pods into a number.
func (c *Chain) groupPriority(r *Request) error {
	if r.Operation != Create || !c.config.gate("WorkloadAwarePreemption") {
		return nil
	}
	spec := r.Object.SetObject("spec")
	found, err := c.classOf(r, spec)
	if err != nil {
		return err
	}
	if n, ok := spec.Get("priority").Int(); ok && n != found.Value {
		return r.forbidf("priority set in the pod group (%d) must match the priority computed (%d) based on the priority class set in the spec", n, found.Value)
	}
	spec.SetInt("priority", found.Value)
	return nil
}

// checkTemplate refuses a new group of pods of a template that its workload does not have.
func (c *Chain) checkTemplate(ctx context.Context, r *Request) error {
	of := r.Object.At("spec", "podGroupTemplateRef", "workload")
	if r.Operation != Create || !r.is(groupsOfPods, "podgroups") || !of.Exists() {
		return nil
	}
	name, template := of.Get("workloadName").Text(), of.Get("podGroupTemplateName").Text()
	workload, release, err := c.objects.Get(ctx, groupsOfPods, "workloads", r.Namespace, name)
	defer release()
	switch {
	case api.IsReason(err, api.ReasonNotFound):
		return r.forbidf("PodGroup rejected: Workload %q not found", name)
	case err != nil:
		return err
	case workload.At("metadata", "deletionTimestamp").Exists():
		return r.forbidf("PodGroup rejected: Workload %q is being deleted", name)
	}
	for _, has := range workload.At("spec", "podGroupTemplates").Elements() {
		if has.Get("name").Equals(template) {
			return nil
		}
	}
	return r.forbidf("PodGroup rejected: PodGroupTemplate %q not found in Workload %q", template, name)
}

// checkParallelism refuses to change the parallelism of a job whose pods are scheduled all or none.
func (c *Chain) checkParallelism(ctx context.Context, r *Request) error {
	if r.Operation != Update || !r.is("batch", "jobs") || sameOrNone(r.Object.At("spec", "parallelism"), r.Old.At("spec", "parallelism")) {
		return nil
	}
	var refused error
	check := func(group document.Value) bool {
		if group.At("spec", "schedulingPolicy", "gang").Exists() {
			refused = r.forbidf("cannot change parallelism for a Job referencing gang-scheduled PodGroup %q", group.At("metadata", "name").Text())
		}
		return refused == nil
	}
	var err error
	if name := r.Old.At("spec", "template", "spec", "schedulingGroup", "podGroupName"); name.Exists() {
		group, release, missing := c.objects.Get(ctx, groupsOfPods, "podgroups", r.Namespace, name.Text())
		defer release()
		if err = missing; err == nil {
			check(group)
		}
	} else {
		err = c.objects.Each(ctx, groupsOfPods, "podgroups", r.Namespace, func(group document.Value) bool {
			return !controlledBy(group, r.Old) || check(group)
		})
	}
	if refused != nil || api.IsReason(err, api.ReasonNotFound) {
		return refused
	}
	return err
}

// controlledBy reports whether an object is the controller of another one.
func controlledBy(object, controller document.Value) bool {
	for _, owner := range object.At("metadata", "ownerReferences").Elements() {
		if owner.Get("controller").Bool() {
			return document.Equal(owner.Get("uid"), controller.At("metadata", "uid"))
		}
	}
	return false
}
