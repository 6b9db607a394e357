package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/quantity"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// Plug-ins that look at the node of a pod.

// placeLabels are the labels of a node that say where it is.
var placeLabels = [...]string{"topology." + profile.LabelDomain + "/zone", "topology." + profile.LabelDomain + "/region"}

// topologyLabels gives a pod that is created on a node, or bound to one, the labels that say where the node is.
func (c *Chain) topologyLabels(ctx context.Context, r *Request) error {
	if r.Operation != Create || r.Resource.GV.Group != "" {
		return nil
	}
	var node string
	switch target := r.Object.Get("target"); {
	case r.Subresource == "":
		node = r.Object.At("spec", "nodeName").Text()
	case r.Subresource == "binding" && target.Get("kind").Equals("Node"):
		node = target.Get("name").Text()
	}
	if node == "" {
		return nil
	}
	obj, release, err := c.node(ctx, node)
	defer release()
	if err != nil || !obj.Exists() {
		return err
	}
	labels := obj.At("metadata", "labels")
	for _, name := range placeLabels {
		if v := labels.Get(name); v.Exists() {
			r.Object.SetObject("metadata").SetObject("labels").SetString(name, v.Text())
		}
	}
	return nil
}

// node reads a node; it is absent when there is none of that name.
func (c *Chain) node(ctx context.Context, name string) (node document.Value, release func(), err error) {
	return c.optional(ctx, "", "nodes", "", name)
}

// nodeOfPod is node, and refuses the change of a pod on a node that does not exist.
func (c *Chain) nodeOfPod(ctx context.Context, r *Request, name string) (node document.Value, release func(), err error) {
	if node, release, err = c.node(ctx, name); err == nil && !node.Exists() {
		err = r.forbidf("node %q not found", name)
	}
	return node, release, err
}

// optional reads an object; it is absent when there is none of that name.
func (c *Chain) optional(ctx context.Context, group, plural, namespace, name string) (obj document.Value, release func(), err error) {
	obj, release, err = c.objects.Get(ctx, group, plural, namespace, name)
	if api.IsReason(err, api.ReasonNotFound) {
		return document.Value{}, release, nil
	}
	return obj, release, err
}

// checkFeatures refuses to change a pod on a node in a way for which the node lacks a feature.
func (c *Chain) checkFeatures(ctx context.Context, r *Request) error {
	name := r.Object.At("spec", "nodeName").Text()
	if r.Operation != Update || r.Subresource != "" && r.Subresource != "resize" || r.Resource.GV.Group != "" || name == "" ||
		document.Equal(r.Object.At("metadata", "generation"), r.Old.At("metadata", "generation")) {
		return nil
	}
	needed := c.config.neededFeatures(r.Object.Get("spec"), r.Old)
	if len(needed) == 0 {
		return nil
	}
	node, release, err := c.nodeOfPod(ctx, r, name)
	defer release()
	if err != nil {
		return err
	}
	for _, has := range node.At("status", "declaredFeatures").Elements() {
		needed = slices.DeleteFunc(needed, has.Equals)
	}
	if len(needed) > 0 {
		return r.forbidf("pod update requires features %s which are not available on node %q", strings.Join(needed, ", "), name)
	}
	return nil
}

// neededFeatures are the features that a node needs for a change of a pod, in the order of their names.
func (c *Config) neededFeatures(spec, old document.Value) (needed []string) {
	before, later := old.Get("spec"), c.since("1.36")
	changed := func(list string, counts func(was document.Value) bool, path ...string) bool {
		now := spec.Get(list)
		for i, was := range before.Get(list).Elements() {
			if counts(was) && !sameOrNone(was.At(path...), now.Index(i).At(path...)) {
				return true
			}
		}
		return false
	}
	if !later && old.At("status", "qosClass").Equals("Guaranteed") &&
		changed("containers", func(document.Value) bool { return true }, "resources", "requests", "cpu") {
		needed = append(needed, "GuaranteedQoSPodCPUResize")
	}
	if !sameOrNone(spec.Get("resources"), before.Get("resources")) {
		needed = append(needed, "InPlacePodLevelResourcesVerticalScaling")
	}
	if later && changed("initContainers", func(was document.Value) bool { return !was.Get("restartPolicy").Equals("Always") }, "resources") {
		needed = append(needed, "InPlacePodVerticalScalingInitContainers")
	}
	return needed
}

// checkResize refuses to give a pod on a node resources that the node does not have, or that cannot change there.
func (c *Chain) checkResize(ctx context.Context, r *Request) error {
	name := r.Object.At("spec", "nodeName").Text()
	if r.Operation != Update || r.Subresource != "resize" || r.Resource.GV.Group != "" || name == "" ||
		document.Equal(r.Object.At("metadata", "generation"), r.Old.At("metadata", "generation")) {
		return nil
	}
	node, release, err := c.nodeOfPod(ctx, r, name)
	defer release()
	if err != nil {
		return err
	}
	if system := node.At("metadata", "labels", profile.LabelDomain+"/os"); system.Exists() && !system.Equals("linux") {
		return r.forbidResize("UnsupportedPlatform", fmt.Sprintf("pod resize is only supported on linux nodes, node %q is %q", name, system.Text()))
	}
	if lacking := lacking(r.Object.Get("spec"), node.At("status", "allocatable")); len(lacking) > 0 {
		return r.forbidResize("NodeCapacity", "node didn't have enough allocatable resources: "+strings.Join(lacking, "; "))
	}
	return nil
}

// lacking says of which resources a pod requests more than its node can allocate.
func lacking(pod, allocatable document.Value) (all []string) {
	requests := kinds.PodAmounts(pod, "requests")
	requests.Add(kinds.AmountsOf(pod.Get("overhead")))
	there := kinds.AmountsOf(allocatable)
	for _, of := range [...]struct {
		name  string
		shown func(quantity.Quantity) int64
	}{{"cpu", quantity.Quantity.Milli}, {"memory", quantity.Quantity.Value}} {
		if wanted, has := requests[of.name], there[of.name]; wanted.Compare(has) > 0 {
			all = append(all, fmt.Sprintf("%s, requested: %d, allocatable: %d", of.name, of.shown(wanted), of.shown(has)))
		}
	}
	return all
}

// forbidResize refuses a resize for a reason that is a cause without a field.
func (r *Request) forbidResize(reason, why string) error {
	err := api.Forbidden(r.Resource.GroupResource(), r.Name, why)
	err.Causes = []api.Cause{{Reason: reason}}
	return err
}
