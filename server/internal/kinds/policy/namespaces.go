package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/schema"
)

const (
	// namespaceFinalizer keeps a namespace until its content is gone.
	namespaceFinalizer = profile.MediaTypeWord
	// namespaceLabel carries a namespace's own name, for selectors.
	namespaceLabel = profile.LabelDomain + "/metadata.name"
)

// DefaultNamespace labels a namespace with its name.
func (Policy) DefaultNamespace(obj document.Value) {
	meta := obj.Get("metadata")
	if name := meta.Get("name").Text(); name != "" {
		meta.SetObject("labels").SetString(namespaceLabel, name)
	}
}

// CreateNamespace initialises a namespace. The label is set here too, because a generated
// name is not known before.
func (p Policy) CreateNamespace(obj document.Value) {
	p.DefaultNamespace(obj)
	obj.SetObject("status").SetString("phase", "Active")
	finalizers := obj.SetObject("spec").SetArray("finalizers")
	if !finalizers.HasText(namespaceFinalizer) {
		finalizers.AppendString(namespaceFinalizer)
	}
}

// UpdateNamespace keeps the finalizers, which only the finalize subresource
// changes, and the label.
func (p Policy) UpdateNamespace(obj, old document.Value) {
	obj.SetObject("spec").Put("finalizers", old.At("spec", "finalizers"))
	p.DefaultNamespace(obj)
}

// ValidateNamespace checks that a changed status has the phase of the namespace, and the
// names of the finalizers, which are reported at the list unless only they have changed.
func (Policy) ValidateNamespace(obj, old document.Value) []schema.Cause {
	var c document.Causes
	if status := obj.Get("status"); old.Exists() && !document.Equal(status, old.Get("status")) {
		want := "Active"
		if obj.At("metadata", "deletionTimestamp").Exists() {
			want = "Terminating"
		}
		if phase := status.Get("phase"); phase.Text() != want {
			c.InvalidAt("status.Phase", phase, "may only be "+want)
		}
	}
	list := obj.At("spec", "finalizers")
	finalizes := old.Exists() && !document.Equal(list, old.At("spec", "finalizers"))
	for _, finalizer := range list.Elements() {
		name, field := finalizer.Text(), list.Path()
		if name == namespaceFinalizer {
			continue
		}
		if finalizes {
			field = finalizer.Path()
		}
		c.FormatText(field, name, "qualified-name")
		if !strings.Contains(name, "/") {
			c.InvalidAt(field, finalizer, "name is neither a standard finalizer name nor is it fully qualified")
		}
	}
	return c
}
