package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
)

// condition is one entry of a namespace's status.conditions.
type condition struct{ kind, status, reason, message string }

// conditions says how far the deletion of a namespace is, in the words that
// clients of 1.25 know. There are always all five.
func conditions(errs []error, left remains) []condition {
	list := []condition{
		{"NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered", "All resources successfully discovered"},
		{"NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions", "All legacy kube types successfully parsed"},
		{"NamespaceDeletionContentFailure", "False", "ContentDeleted", "All content successfully deleted, may be waiting on finalization"},
		{"NamespaceContentRemaining", "False", "ContentRemoved", "All content successfully removed"},
		{"NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers", "All content-preserving finalizers finished"},
	}
	if len(errs) > 0 {
		texts := make([]string, len(errs))
		for i, err := range errs {
			texts[i] = err.Error()
		}
		slices.Sort(texts)
		list[2].status, list[2].reason = "True", "ContentDeletionFailed"
		list[2].message = fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(errs), strings.Join(texts[:min(len(texts), 10)], ", "))
	}
	if len(left.objects) > 0 {
		list[3].status, list[3].reason = "True", "SomeResourcesRemain"
		list[3].message = "Some resources are remaining: " + counts(left.objects, "%s has %d resource instances")
	}
	if len(left.finalizers) > 0 {
		list[4].status, list[4].reason = "True", "SomeFinalizersRemain"
		list[4].message = "Some content in the namespace has finalizers remaining: " + counts(left.finalizers, "%s in %d resource instances")
	}
	return list
}

// counts writes numbers by name, in the order of the names.
func counts(numbers map[string]int, format string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		parts = append(parts, fmt.Sprintf(format, name, numbers[name]))
	}
	return strings.Join(parts, ", ")
}

// report writes the conditions into a namespace's status.
func (n *namespaces) report(ctx context.Context, name string, list []condition) error {
	now := n.Now().UTC().Format(time.RFC3339)
	return n.Cluster.Edit(ctx, n.cluster.namespaces.Resource, "", name, "status", func(obj document.Value) {
		if !terminatingValue(obj) {
			return
		}
		status := obj.SetObject("status")
		status.SetString("phase", "Terminating")
		for _, c := range list {
			c.set(status.SetArray("conditions"), now)
		}
	})
}

// set puts a condition into a list in place of the one of its kind. The time is
// that of the last change of its status.
func (c condition) set(list document.Value, now string) {
	var at document.Value
	for _, have := range list.Elements() {
		if have.Get("type").Equals(c.kind) {
			at = have
		}
	}
	if !at.Exists() {
		at = list.AppendObject()
		at.SetString("type", c.kind)
	}
	if !at.Get("status").Equals(c.status) {
		at.SetString("lastTransitionTime", now)
	}
	at.SetString("status", c.status)
	at.SetString("reason", c.reason)
	at.SetString("message", c.message)
}
