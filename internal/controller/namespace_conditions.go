package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// conditions describe the progress of a namespace's deletion, in the words that clients
// of 1.25 know. There are always all five.
func conditions(errs, unknown []error, left remains) []api.Condition {
	list := []api.Condition{
		{Type: "NamespaceDeletionDiscoveryFailure", Status: "False", Reason: "ResourcesDiscovered", Message: "All resources successfully discovered"},
		{Type: "NamespaceDeletionGroupVersionParsingFailure", Status: "False", Reason: "ParsedGroupVersions", Message: "All legacy kube types successfully parsed"},
		{Type: "NamespaceDeletionContentFailure", Status: "False", Reason: "ContentDeleted",
			Message: "All content successfully deleted, may be waiting on finalization"},
		{Type: "NamespaceContentRemaining", Status: "False", Reason: "ContentRemoved", Message: "All content successfully removed"},
		{Type: "NamespaceFinalizersRemaining", Status: "False", Reason: "ContentHasNoFinalizers", Message: "All content-preserving finalizers finished"},
	}
	if len(unknown) > 0 {
		texts := make([]string, len(unknown))
		for i, err := range unknown {
			texts[i] = err.Error()
		}
		list[0].Status, list[0].Reason = "True", "DiscoveryFailed"
		list[0].Message = fmt.Sprintf("Discovery failed for some groups, %d failing: unable to retrieve the complete list of server APIs: %s", len(unknown),
			strings.Join(texts, ", "))
	}
	if len(errs) > 0 {
		texts := make([]string, len(errs))
		for i, err := range errs {
			texts[i] = err.Error()
		}
		slices.Sort(texts)
		list[2].Status, list[2].Reason = "True", "ContentDeletionFailed"
		list[2].Message = fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(errs), strings.Join(texts[:min(len(texts), 10)], ", "))
	}
	if len(left.objects) > 0 {
		list[3].Status, list[3].Reason = "True", "SomeResourcesRemain"
		list[3].Message = "Some resources are remaining: " + counts(left.objects, "%s has %d resource instances")
	}
	if len(left.finalizers) > 0 {
		list[4].Status, list[4].Reason = "True", "SomeFinalizersRemain"
		list[4].Message = "Some content in the namespace has finalizers remaining: " + counts(left.finalizers, "%s in %d resource instances")
	}
	return list
}

// counts formats numbers by name, in the order of the names.
func counts(numbers map[string]int, format string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		parts = append(parts, fmt.Sprintf(format, name, numbers[name]))
	}
	return strings.Join(parts, ", ")
}

// report writes the conditions into a namespace's status.
func (n *namespaces) report(ctx context.Context, name string, list []api.Condition) error {
	now := n.Now().UTC().Format(time.RFC3339)
	return n.Cluster.Edit(ctx, n.cluster.namespaces.Resource, "", name, "status", func(obj document.Value) {
		if !terminatingValue(obj) {
			return
		}
		status := obj.SetObject("status")
		status.SetString("phase", "Terminating")
		for _, c := range list {
			c.Set(status.SetArray("conditions"), now)
		}
	})
}
