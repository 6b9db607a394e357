package admission

import (
	"cmp"
	"context"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// Plug-ins for groups of pods that are scheduled together.

// protectGroup gives a group of pods a finalizer, which a controller removes when no pod is in the group.
func (c *Chain) protectGroup(_ context.Context, r *Request) error {
	if r.Operation == Create && r.is(schedulingGroup, "podgroups") {
		addFinalizer(r.Object, schedulingGroup+"/podgroup-protection")
	}
	return nil
}

// groupPriority turns the name of the priority class of a group of pods into a number.
func (c *Chain) groupPriority(r *Request) error {
	if r.Operation != Create || !c.config.gate("WorkloadAwarePreemption") {
		return nil
	}
	_, err := c.setPriority(r, "priority set in the pod group (%d) must match the priority computed (%d) based on the priority class set in the spec")
	return err
}

// checkTemplate refuses a new group of pods of a template that its workload does not have.
func (c *Chain) checkTemplate(ctx context.Context, r *Request) error {
	of := r.Object.At("spec", "podGroupTemplateRef", "workload")
	if r.Operation != Create || !r.is(schedulingGroup, "podgroups") || !of.Exists() {
		return nil
	}
	name, template := of.Get("workloadName").Text(), of.Get("podGroupTemplateName").Text()
	workload, release, err := c.optional(ctx, schedulingGroup, "workloads", r.Namespace, name)
	defer release()
	switch {
	case err != nil:
		return err
	case !workload.Exists():
		return r.forbidf("PodGroup rejected: Workload %q not found", name)
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
	if name := r.Old.At("spec", "template", "spec", "schedulingGroup", "podGroupName"); name.Exists() {
		group, release, err := c.optional(ctx, schedulingGroup, "podgroups", r.Namespace, name.Text())
		defer release()
		if err == nil {
			check(group)
		}
		return cmp.Or(refused, err)
	}
	uid := r.Old.At("metadata", "uid").Text()
	err := c.objects.Each(ctx, schedulingGroup, "podgroups", r.Namespace, func(group document.Value) bool {
		return controllerOf(group) != uid || check(group)
	})
	if api.IsReason(err, api.ReasonNotFound) { // the server does not have groups
		err = nil
	}
	return cmp.Or(refused, err)
}
