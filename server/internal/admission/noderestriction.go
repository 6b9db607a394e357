package admission

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

const (
	nodeLeases        = "kube-node-lease" // the namespace of the leases of nodes
	leaseGroup        = "coordination." + profile.GroupSuffix
	storageGroup      = "storage." + profile.GroupSuffix
	resourceGroup     = "resource." + profile.GroupSuffix
	certificatesGroup = "certificates." + profile.GroupSuffix
)

// nodeWrite is a write by the agent of a node.
type nodeWrite struct {
	*Request
	objects Objects
	node    string  // its name
	config  *Config // says which checks the release has
}

// restrictNode keeps the agent of a node to its own node, the pods there, and the objects
// that represent the node. Refusals have the words of the release.
func (c *Chain) restrictNode(ctx context.Context, r *Request) error {
	name, is := authn.NodeOf(r.User)
	if !is {
		return nil
	}
	if name == "" {
		return r.forbidf("could not determine node from user %q", r.User.Name)
	}
	w := &nodeWrite{r, c.objects, name, &c.config}
	switch r.Resource.GroupResource() {
	case api.GroupResource{Resource: "pods"}:
		return w.pod(ctx)
	case api.GroupResource{Resource: "nodes"}:
		return w.ownNode()
	case api.GroupResource{Resource: "persistentvolumeclaims"}:
		return w.claim()
	case api.GroupResource{Resource: "serviceaccounts"}:
		return w.token(ctx)
	case api.GroupResource{Group: leaseGroup, Resource: "leases"}:
		if r.Namespace != nodeLeases {
			return r.forbidf("can only access leases in the %q system namespace", nodeLeases)
		}
		return w.named("can only access node lease with the same name as the requesting node")
	case api.GroupResource{Group: storageGroup, Resource: "csinodes"}:
		return w.named("can only access CSINode with the same name as the requesting node")
	case api.GroupResource{Group: resourceGroup, Resource: "resourceslices"}:
		return w.slice()
	case api.GroupResource{Group: certificatesGroup, Resource: "certificatesigningrequests"}:
		return w.ownCertificate()
	case api.GroupResource{Group: certificatesGroup, Resource: "podcertificaterequests"}:
		return w.podCertificate(ctx)
	}
	return nil
}

// forbidf refuses a write, with the name that 1.25 shows.
func (r *Request) forbidf(format string, args ...any) error {
	meta := r.Object.Get("metadata")
	name := cmp.Or(r.Name, meta.Get("generateName").Text(), meta.Get("name").Text(), "Unknown")
	return api.Forbidden(r.Resource.GroupResource(), name, fmt.Sprintf(format, args...))
}

// words are the names of operations in refusals.
var words = [...]string{Create: "CREATE", Update: "UPDATE", Delete: "DELETE"}

func (w *nodeWrite) named(why string) error {
	if w.Name != w.node {
		return w.forbidf("%s", why)
	}
	return nil
}

func (w *nodeWrite) pod(ctx context.Context) error {
	switch {
	case w.Subresource == "" && w.Operation == Create:
		return w.newPod(ctx)
	case w.Subresource == "" && w.Operation == Delete:
		if !w.runs(w.Old) {
			return w.forbidf("node %q can only delete pods with spec.nodeName set to itself", w.node)
		}
	case w.Subresource == "":
		return w.forbidf("unexpected operation %q, node %q can only create and delete mirror pods", words[w.Operation], w.node)
	case w.Subresource == "status" && w.Operation == Update:
		if !w.runs(w.Old) {
			return w.forbidf("node %q can only update pod status for pods with spec.nodeName set to itself", w.node)
		}
		if len(changedLabels(w.Object, w.Old)) > 0 {
			return w.forbidf("node %q cannot update labels through pod status", w.node)
		}
		return w.claimStatuses()
	case w.Subresource == "eviction" && w.Operation == Create:
		pod, release, err := w.get(ctx, "pods", w.Namespace, w.Name)
		defer release()
		if err == nil && !w.runs(pod) {
			err = w.forbidf("node %s can only evict pods with spec.nodeName set to itself", w.node)
		}
		return err
	case w.Subresource == "status" || w.Subresource == "eviction":
		return w.forbidf("unexpected operation %q", words[w.Operation])
	default:
		return w.forbidf("unexpected pod subresource %q, only 'status' and 'eviction' are allowed", w.Subresource)
	}
	return nil
}

// runs reports whether a pod is on the node.
func (w *nodeWrite) runs(pod document.Value) bool { return pod.At("spec", "nodeName").Equals(w.node) }

// get reads an object; the caller releases it. Errors: 404, by the name of the kind.
func (w *nodeWrite) get(ctx context.Context, plural, namespace, name string) (document.Value, func(), error) {
	obj, release, err := w.objects.Get(ctx, "", plural, namespace, name)
	if api.IsReason(err, api.ReasonNotFound) {
		err = api.NotFound(api.GroupResource{Resource: plural[:len(plural)-1]}, name)
	}
	return obj, release, err
}

// newPod permits a pod that represents a static pod of the node, and names no objects.
func (w *nodeWrite) newPod(ctx context.Context) error {
	if !w.Object.At("metadata", "annotations").Get(mirrorAnnotation).Exists() {
		return w.forbidf("pod does not have %q annotation, node %q can only create mirror pods", mirrorAnnotation, w.node)
	}
	if !w.runs(w.Object) {
		return w.forbidf("node %q can only create pods with spec.nodeName set to itself", w.node)
	}
	if err := w.owner(ctx); err != nil {
		return err
	}
	switch named, err := w.namedObjects(); {
	case err != nil:
		return w.forbidf("error checking mirror pod for API references: %v", err)
	case named != "":
		return w.forbidf("node %q can not create pods that reference %s", w.node, named)
	}
	return nil
}

// owner requires that the node is the one owner of a new pod.
func (w *nodeWrite) owner(ctx context.Context) error {
	owners := w.Object.At("metadata", "ownerReferences")
	owner := owners.Index(0)
	switch {
	case owners.Len() > 1:
		return w.forbidf("node %q can only create pods with a single owner reference set to itself", w.node)
	case owners.Len() == 0, !owner.Get("apiVersion").Equals("v1"), !owner.Get("kind").Equals("Node"), !owner.Get("name").Equals(w.node):
		return w.forbidf("node %q can only create pods with an owner reference set to itself", w.node)
	case !owner.Get("controller").Bool():
		return w.forbidf("node %q can only create pods with a controller owner reference set to itself", w.node)
	case owner.Get("blockOwnerDeletion").Bool():
		return w.forbidf("node %q must not set blockOwnerDeletion on an owner reference", w.node)
	}
	node, release, err := w.get(ctx, "nodes", "", w.node)
	defer release()
	if err != nil {
		return err
	}
	if uid := node.At("metadata", "uid").Text(); uid != owner.Get("uid").Text() {
		return w.forbidf("node %s UID mismatch: expected %s got %s", w.node, owner.Get("uid").Text(), uid)
	}
	return nil
}

// token permits a token of a pod on the node.
func (w *nodeWrite) token(ctx context.Context) error {
	if w.Operation != Create || w.Subresource != "token" {
		return nil
	}
	ref := w.Object.At("spec", "boundObjectRef")
	name, uid := ref.Get("name").Text(), ref.Get("uid").Text()
	if !ref.Get("apiVersion").Equals("v1") || !ref.Get("kind").Equals("Pod") || name == "" {
		return w.forbidf("node requested token not bound to a pod")
	}
	if uid == "" {
		return w.forbidf("node requested token with a pod binding without a uid")
	}
	pod, release, err := w.get(ctx, "pods", w.Namespace, name)
	defer release()
	if err != nil {
		return err
	}
	if !pod.At("metadata", "uid").Equals(uid) {
		return w.forbidf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", uid)
	}
	if !w.runs(pod) {
		return w.forbidf("node requested token bound to a pod scheduled on a different node")
	}
	if w.config.gate("ServiceAccountNodeAudienceRestriction") {
		return w.audience(ctx, pod)
	}
	return nil
}

// claim permits the result of an expansion.
func (w *nodeWrite) claim() error {
	if w.Subresource != "status" {
		return w.forbidf("may only update PVC status")
	}
	if w.Operation != Update {
		return w.forbidf("unexpected operation %q", words[w.Operation])
	}
	changed := changedMembers(w.Object, w.Old, "metadata", "status")
	changed = append(changed, changedMembers(w.Object.Get("metadata"), w.Old.Get("metadata"), "resourceVersion", "managedFields")...)
	changed = append(changed, changedMembers(w.Object.Get("status"), w.Old.Get("status"), "capacity", "conditions", "resizeStatus", "allocatedResources")...)
	if len(changed) > 0 {
		return w.forbidf("node %q is not allowed to update fields other than status.capacity and status.conditions: %v", w.node, changed)
	}
	return nil
}

// changedMembers are the names of the members in which two objects differ, except for some.
// An empty list or map is as good as none.
func changedMembers(a, b document.Value, except ...string) []string {
	changed := map[string]bool{}
	for _, of := range [...]document.Value{a, b} {
		for name := range of.Members() {
			x, y := a.Get(name), b.Get(name)
			if !slices.Contains(except, name) && !sameOrNone(x, y) {
				changed[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

// sameOrNone reports whether two values are equal, or each of them is nothing but for a text.
func sameOrNone(a, b document.Value) bool {
	none := func(v document.Value) bool { return v.Kind() != document.String && v.IsNothing() }
	return none(a) && none(b) || equal(a, b)
}
