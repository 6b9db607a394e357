package admission

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// ownNode permits writes of the node's own object, which may not change the parts that
// steer pods to it, or give it access to other objects.
func (w *nodeWrite) ownNode() error {
	if w.Name != w.node {
		return w.forbidf("node %q is not allowed to modify node %q", w.node, w.Name)
	}
	owners, before := w.Object.At("metadata", "ownerReferences"), w.Old.At("metadata", "ownerReferences")
	if w.Operation != Delete && (owners.Len() > 0 || before.Len() > 0) &&
		!equal(owners, before) { // the node would end with an owner, and come back without its taints
		return w.forbidf("node %q is not allowed to modify ownerReferences", w.node)
	}
	labels := strings.Join(forbiddenLabels(changedLabels(w.Object, w.Old)), ", ")
	source := w.Object.At("spec", "configSource")
	switch w.Operation {
	case Create:
		if !source.IsNothing() {
			return w.forbidf("node %q is not allowed to create pods with a non-nil configSource", w.node)
		}
		if labels != "" {
			return w.forbidf("node %q is not allowed to set the following labels: %s", w.node, labels)
		}
	case Update:
		if !source.IsNothing() && !equal(source, w.Old.At("spec", "configSource")) {
			return w.forbidf("node %q is not allowed to update configSource to a new non-nil configSource", w.node)
		}
		taints, before := w.Object.At("spec", "taints"), w.Old.At("spec", "taints")
		if (taints.Len() > 0 || before.Len() > 0) && !equal(taints, before) {
			return w.forbidf("node %q is not allowed to modify taints", w.node)
		}
		if labels != "" {
			return w.forbidf("is not allowed to modify labels: %s", labels)
		}
	}
	return nil
}

// changedLabels are the keys of the labels in which two objects differ.
func changedLabels(a, b document.Value) []string {
	return changedMembers(a.At("metadata", "labels"), b.At("metadata", "labels"))
}

// forbiddenLabels are those of the labels that the agent of a node may not set on its own
// node: others rely on them.
func forbiddenLabels(keys []string) []string {
	return slices.DeleteFunc(keys, func(key string) bool {
		domain, _, _ := strings.Cut(key, "/")
		switch {
		case !strings.Contains(key, "/"):
			return true
		case within(domain, "node-restriction."+profile.LabelDomain):
			return false
		case !within(domain, profile.LabelDomain) && !within(domain, profile.GroupSuffix):
			return true
		}
		return slices.Contains(nodeLabels[:], key) || within(domain, "kubelet."+profile.LabelDomain) || within(domain, "node."+profile.LabelDomain)
	})
}

// within reports whether a domain is another one or below it.
func within(domain, of string) bool {
	rest, ok := strings.CutSuffix(domain, of)
	return ok && (rest == "" || strings.HasSuffix(rest, "."))
}

// nodeLabels are the labels of well-known facts about a node, which its agent reports.
var nodeLabels = [...]string{
	profile.LabelDomain + "/hostname",
	"topology." + profile.LabelDomain + "/zone",
	"topology." + profile.LabelDomain + "/region",
	"failure-domain.beta." + profile.LabelDomain + "/zone",
	"failure-domain.beta." + profile.LabelDomain + "/region",
	"beta." + profile.LabelDomain + "/instance-type",
	"node." + profile.LabelDomain + "/instance-type",
	profile.LabelDomain + "/os",
	profile.LabelDomain + "/arch",
	"beta." + profile.LabelDomain + "/os",
	"beta." + profile.LabelDomain + "/arch",
}
