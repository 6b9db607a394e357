package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Rules of namespaces, nodes, volumes and claims.

// namespaceFinalizer keeps a namespace until its content is gone.
const namespaceFinalizer = "kubernetes"

// namespaceLabel is the label that carries a namespace's own name.
const namespaceLabel = "kubernetes.io/metadata.name"

// DefaultNamespace labels a namespace with its name.
func (Policy) DefaultNamespace(ns document.Value) {
	meta := ns.SetObject("metadata")
	if name := meta.Get("name").Text(); name != "" {
		meta.SetObject("labels").SetString(namespaceLabel, name)
	}
}

// CreateNamespace begins a namespace's life. The label is set here too, because
// a generated name is not known before.
func (p Policy) CreateNamespace(ns document.Value) {
	p.DefaultNamespace(ns)
	ns.SetObject("status").SetString("phase", "Active")
	spec := ns.SetObject("spec")
	for _, f := range spec.Get("finalizers").Elements() {
		if f.Equals(namespaceFinalizer) {
			return
		}
	}
	spec.SetArray("finalizers").AppendString(namespaceFinalizer)
}

// UpdateNamespace keeps the finalizers, which only the finalize subresource
// changes.
func (Policy) UpdateNamespace(ns, old document.Value) {
	keep(ns.SetObject("spec"), old.Get("spec"), "finalizers")
}

// DefaultNode says that all of a node can be used, when nobody says less.
func (Policy) DefaultNodeStatus(status document.Value) {
	if capacity := status.Get("capacity"); capacity.Exists() && !status.Get("allocatable").Exists() {
		status.Put("allocatable", capacity)
	}
}

// ValidateNode checks that what is set once stays.
func (Policy) ValidateNode(node, old document.Value) []schema.Cause {
	var c causes
	for _, name := range []string{"podCIDR", "providerID"} {
		before, now := old.At("spec", name), node.At("spec", name)
		if before.Text() != "" && !same(before, now) {
			c.forbidden("spec."+name, "node updates may not change "+name+" except from \"\" to valid")
		}
	}
	return c
}

// CreatePersistentVolume begins a volume's life.
func (Policy) CreatePersistentVolume(volume document.Value) {
	volume.SetObject("status").SetString("phase", "Pending")
}

// CreatePersistentVolumeClaim begins a claim's life.
func (Policy) CreatePersistentVolumeClaim(claim document.Value) {
	claim.SetObject("status").SetString("phase", "Pending")
	copyDataSource(claim.Get("spec"))
}

// copyDataSource gives the two fields that say where a claim's content comes
// from the same value when only one is set.
func copyDataSource(spec document.Value) {
	from, ref := spec.Get("dataSource"), spec.Get("dataSourceRef")
	switch {
	case from.Exists() && !ref.Exists():
		spec.Put("dataSourceRef", from)
	case ref.Exists() && !from.Exists():
		spec.Put("dataSource", ref)
	}
}

// ValidatePersistentVolumeClaim checks that a claim asks for something, and that
// only the size it asks for changes once it exists.
func (Policy) ValidatePersistentVolumeClaim(claim, old document.Value) []schema.Cause {
	var c causes
	spec := claim.Get("spec")
	if !spec.At("resources", "requests", "storage").Exists() {
		c.required("spec.resources[storage]", "")
	}
	if !old.Exists() {
		return c
	}
	before := old.Get("spec")
	for _, side := range []struct{ a, b document.Value }{{spec, before}, {before, spec}} {
		for name, v := range side.a.Members() {
			other := side.b.Get(name)
			if same(v, other) || name == "resources" || name == "volumeName" && !before.Get("volumeName").Exists() {
				continue
			}
			c.forbidden("spec", "spec is immutable after creation except resources.requests for bound claims")
			return c
		}
	}
	return c
}
