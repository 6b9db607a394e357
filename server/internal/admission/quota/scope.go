package quota

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// readScopes reads the scopes of a quota, of both lists.
func readScopes(spec document.Value) (all []admission.QuotaScope) {
	for _, s := range spec.Get("scopes").Elements() {
		all = append(all, admission.QuotaScope{ScopeName: s.Text(), Operator: "Exists"})
	}
	for _, e := range spec.At("scopeSelector", "matchExpressions").Elements() {
		all = append(all, admission.QuotaScope{ScopeName: e.Get("scopeName").Text(), Operator: e.Get("operator").Text(), Values: e.Get("values").Texts()})
	}
	return all
}

// inAll reports whether an object is in all scopes.
func inAll(of api.GroupResource, scopes []admission.QuotaScope, obj document.Value) bool {
	return !slices.ContainsFunc(scopes, func(s admission.QuotaScope) bool { return !inScope(of, s, obj) })
}

func isPod(of api.GroupResource) bool { return of == api.GroupResource{Resource: "pods"} }

func isClaim(of api.GroupResource) bool {
	return of == api.GroupResource{Resource: "persistentvolumeclaims"}
}

// inScope reports whether an object is in a scope. Each is one of pods or of claims for
// volumes.
func inScope(of api.GroupResource, s admission.QuotaScope, obj document.Value) bool {
	switch {
	case isClaim(of) && s.ScopeName == "VolumeAttributesClass":
		return claimHas(s, obj)
	case isPod(of):
		return podIn(s, obj)
	}
	return false
}

// claimHas reports whether one of the classes of attributes of a claim is selected: the
// wanted one, that of the volume, or that of a change under way.
func claimHas(s admission.QuotaScope, claim document.Value) bool {
	none := true
	for _, path := range [...][]string{{"spec", "volumeAttributesClassName"}, {"status", "currentVolumeAttributesClassName"},
		{"status", "modifyVolumeStatus", "targetVolumeAttributesClassName"}} {
		if class := claim.At(path...).Text(); class != "" {
			if none = false; selects(s, class) {
				return true
			}
		}
	}
	return none && selects(s, "")
}

// selects reports whether a requirement holds for the name of a class, "" for none.
func selects(s admission.QuotaScope, class string) bool {
	switch s.Operator {
	case "Exists":
		return class != ""
	case "DoesNotExist":
		return class == ""
	case "In":
		return class != "" && slices.Contains(s.Values, class)
	case "NotIn":
		return class == "" || !slices.Contains(s.Values, class)
	}
	return false
}

func podIn(s admission.QuotaScope, pod document.Value) bool {
	spec := pod.Get("spec")
	switch s.ScopeName {
	case "Terminating":
		return ends(spec)
	case "NotTerminating":
		return !ends(spec)
	case "BestEffort":
		return kinds.BestEffort(spec)
	case "NotBestEffort":
		return !kinds.BestEffort(spec)
	case "CrossNamespacePodAffinity":
		return crossesNamespaces(spec.Get("affinity"))
	case "PriorityClass":
		return selects(s, spec.Get("priorityClassName").Text())
	}
	return false
}

// ends reports whether a pod has a deadline.
func ends(spec document.Value) bool {
	deadline, ok := spec.Get("activeDeadlineSeconds").Int()
	return ok && deadline >= 0
}

// crossesNamespaces reports whether an affinity of pods looks into other namespaces.
func crossesNamespaces(affinity document.Value) bool {
	crosses := func(term document.Value) bool {
		return term.Get("namespaces").Len() > 0 || term.Get("namespaceSelector").Exists()
	}
	for _, of := range [...]string{"podAffinity", "podAntiAffinity"} {
		for _, term := range affinity.At(of, "requiredDuringSchedulingIgnoredDuringExecution").Elements() {
			if crosses(term) {
				return true
			}
		}
		for _, term := range affinity.At(of, "preferredDuringSchedulingIgnoredDuringExecution").Elements() {
			if crosses(term.Get("podAffinityTerm")) {
				return true
			}
		}
	}
	return false
}
