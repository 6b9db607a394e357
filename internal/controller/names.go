package controller

import (
	"fmt"
	"slices"
	"strings"
)

// Names of the controllers, as in kube-controller-manager.
const (
	Namespace        = "namespace"
	GarbageCollector = "garbagecollector"
	ServiceAccount   = "serviceaccount"
	AccountToken     = "serviceaccount-token"
	RootCA           = "root-ca-cert-publisher"
	ClaimProtection  = "pvc-protection"
	VolumeProtection = "pv-protection"
	RoleAggregation  = "clusterrole-aggregation"
	Approver         = "csrapproving"
	Signer           = "csrsigning"
	Cleaner          = "csrcleaner"
	BootstrapSigner  = "bootstrapsigner"
	TokenCleaner     = "tokencleaner"
	ResourceQuota    = "resourcequota"
	StorageMigrator  = "storage-version-migrator-controller"         // newer than 1.25
	LeaderElection   = "leader-election-controller"                  // newer than 1.25; of kube-apiserver
	ServiceRanges    = "service-cidr-controller"                     // newer than 1.25
	PolicyStatus     = "validatingadmissionpolicy-status-controller" // newer than 1.25; the server runs it itself
)

// Names lists all controllers, sorted.
func Names() []string {
	return []string{BootstrapSigner, RoleAggregation, Approver, Cleaner, Signer, GarbageCollector, LeaderElection, Namespace, VolumeProtection, ClaimProtection,
		ResourceQuota, RootCA, ServiceRanges, ServiceAccount, AccountToken, StorageMigrator, TokenCleaner, PolicyStatus}
}

// OnlyByName lists the controllers that "*" does not select, as in kube-controller-manager.
func OnlyByName() []string { return []string{BootstrapSigner, TokenCleaner} }

// otherControllers are the other controllers of kube-controller-manager 1.25. Selections that
// were written for it may name them, without effect.
var otherControllers = strings.Fields(`attachdetach cloud-node-lifecycle cronjob daemonset deployment disruption endpoint endpointslice endpointslicemirroring ephemeral-volume
	horizontalpodautoscaling job nodeipam nodelifecycle persistentvolume-binder persistentvolume-expander podgc
	replicaset replicationcontroller route service statefulset ttl
	ttl-after-finished`)

// Check reports the first word of a selection (see Enabled) that is not the name of a
// controller, here or in kube-controller-manager.
func Check(selection []string) error {
	for _, word := range selection {
		name := strings.TrimPrefix(word, "-")
		if name != "*" && !slices.Contains(Names(), name) && !slices.Contains(otherControllers, name) {
			return fmt.Errorf("--controllers: %q is not known; use \"*\" for the usual ones, or some of %s, each with \"-\" before it to leave it out", word,
				strings.Join(Names(), ", "))
		}
	}
	return nil
}

// NotHere lists the controllers of a selection that run in other programs.
func NotHere(selection []string) (names []string) {
	for _, word := range selection {
		if slices.Contains(otherControllers, word) {
			names = append(names, word)
		}
	}
	return names
}

// Enabled reports whether a selection has a controller: the first word that is its name
// ("name") or that with a minus ("-name") decides; without one, "*" selects it, unless
// there is "-*", or it is one of OnlyByName.
func Enabled(selection []string, name string) bool {
	for _, word := range selection {
		switch word {
		case name:
			return true
		case "-" + name:
			return false
		}
	}
	return slices.Contains(selection, "*") && !slices.Contains(selection, "-*") && !slices.Contains(OnlyByName(), name)
}
