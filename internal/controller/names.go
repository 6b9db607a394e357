package controller

import (
	"fmt"
	"slices"
	"strings"
)

// Names of the controllers, as kube-controller-manager has them.
const (
	Namespace        = "namespace"
	GarbageCollector = "garbagecollector"
	ServiceAccount   = "serviceaccount"
	RootCA           = "root-ca-cert-publisher"
	ClaimProtection  = "pvc-protection"
	VolumeProtection = "pv-protection"
	RoleAggregation  = "clusterrole-aggregation"
)

// Names lists all controllers, sorted.
func Names() []string {
	return []string{RoleAggregation, GarbageCollector, Namespace, VolumeProtection, ClaimProtection, RootCA, ServiceAccount}
}

// Check reports the first word of a selection (see Enabled) that names no
// controller.
func Check(selection []string) error {
	for _, word := range selection {
		name := strings.TrimPrefix(word, "-")
		if name != "*" && !slices.Contains(Names(), name) {
			return fmt.Errorf("controllers: %q is not known; use \"*\" for all, or some of %s, each with \"-\" before it to leave it out", word, strings.Join(Names(), ", "))
		}
	}
	return nil
}

// Enabled reports whether a selection has a controller: the first word that is
// its name ("name") or that with a minus ("-name") decides; without one, "*"
// selects it, unless there is "-*".
func Enabled(selection []string, name string) bool {
	for _, word := range selection {
		switch word {
		case name:
			return true
		case "-" + name:
			return false
		}
	}
	return slices.Contains(selection, "*") && !slices.Contains(selection, "-*")
}
