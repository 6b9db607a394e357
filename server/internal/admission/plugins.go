package admission

import (
	"context"

	"github.com/capstan-dev/capstan/internal/api"
)

// plugin is one rule. An error refuses the request; it is an *api.Error, or an
// I/O error.
//
// Invariant: admit, which comes before validation and may change the object, or
// check, which comes after it and may not, or both are set; neither for a plug-in
// whose rule other code keeps.
type plugin struct {
	name         string
	admit, check func(c *Chain, ctx context.Context, r *Request) error
	deletes      bool                                                                         // handles deletes too
	connects     bool                                                                         // handles connections too
	optional     bool                                                                         // off unless it is enabled
	waits        func(c *Chain, o Operation, resource *api.Resource, subresource string) bool // whether it may block; nil for never
}

// handles reports whether the plug-in sees requests of an operation.
func (p *plugin) handles(o Operation) bool {
	switch o {
	case Delete:
		return p.deletes
	case Connect:
		return p.connects
	}
	return true
}

// The plug-ins that may have the others see the object again.
const (
	mutatingPolicy  = "MutatingAdmissionPolicy"
	mutatingWebhook = "MutatingAdmissionWebhook"
)

// plugins are all plug-ins of 1.25, and those of policies, in the order in which they run.
var plugins = [...]plugin{
	{name: "AlwaysAdmit", optional: true},
	{name: "NamespaceAutoProvision", waits: awaitsNamespace, optional: true}, // objects.Config.ProvidesNamespaces
	{name: "NamespaceLifecycle"},                                             // nothing is created in a missing or terminating namespace
	{name: "NamespaceExists", optional: true},
	{name: "SecurityContextDeny", check: (*Chain).denyContexts, optional: true},
	{name: "LimitPodHardAntiAffinityTopology", check: (*Chain).limitAntiAffinity, optional: true},
	{name: "LimitRanger", admit: (*Chain).fillLimits, check: (*Chain).checkLimits},
	{name: "ServiceAccount", admit: (*Chain).serviceAccount, waits: awaitsAccount},
	{name: "NodeRestriction", admit: (*Chain).restrictNode, deletes: true, optional: true},
	{name: "TaintNodesByCondition", admit: (*Chain).taintNode},
	{name: "AlwaysPullImages", admit: (*Chain).pullImages, check: (*Chain).checkPulling, optional: true},
	{name: "ImagePolicyWebhook", check: (*Chain).reviewImages, waits: awaitsImages, optional: true},
	{name: "PodSecurity", check: (*Chain).podSecurity, waits: awaitsPods},
	{name: "PodNodeSelector", admit: (*Chain).selectNodes, check: (*Chain).checkSelector, optional: true},
	{name: "Priority", admit: (*Chain).priority, check: (*Chain).oneDefault},
	{name: "DefaultTolerationSeconds", admit: (*Chain).tolerations},
	{name: "PodTolerationRestriction", admit: (*Chain).addTolerations, check: (*Chain).checkTolerations, optional: true},
	{name: "EventRateLimit", check: (*Chain).limitEvents, optional: true},
	{name: "ExtendedResourceToleration", admit: (*Chain).tolerateExtended, optional: true},
	{name: "PersistentVolumeLabel", admit: (*Chain).labelVolume, optional: true},
	{name: "DefaultStorageClass", admit: (*Chain).defaultStorageClass},
	{name: "StorageObjectInUseProtection", admit: (*Chain).protect},
	{name: "OwnerReferencesPermissionEnforcement", check: (*Chain).enforceOwners, optional: true},
	{name: "PersistentVolumeClaimResize", check: (*Chain).resize},
	{name: "RuntimeClass", admit: (*Chain).runtimeClass, check: (*Chain).checkOverhead},
	{name: "CertificateApproval", check: (*Chain).approve},
	{name: "CertificateSigning", check: (*Chain).sign},
	{name: "CertificateSubjectRestriction", check: (*Chain).restrictSubject},
	{name: "DefaultIngressClass", admit: (*Chain).defaultIngressClass},
	{name: "DenyServiceExternalIPs", check: (*Chain).denyExternalIPs, optional: true},
	{name: mutatingPolicy, admit: (*Chain).applyMutating, connects: true, waits: (*Chain).awaitsPolicies},
	{name: mutatingWebhook, admit: (*Chain).askMutating, deletes: true, connects: true, waits: (*Chain).awaitsWebhooks},
	{name: "ValidatingAdmissionPolicy", check: (*Chain).checkPolicies, deletes: true, connects: true, waits: (*Chain).awaitsPolicies},
	{name: "ValidatingAdmissionWebhook", check: (*Chain).askValidating, deletes: true, connects: true, waits: (*Chain).awaitsWebhooks},
	{name: "ResourceQuota", check: (*Chain).charge},
	{name: "AlwaysDeny", admit: (*Chain).denyAll, check: (*Chain).denyAll, deletes: true, connects: true, optional: true},
}

// awaitsNamespace reports whether a write may have to create its namespace first.
func awaitsNamespace(_ *Chain, o Operation, resource *api.Resource, subresource string) bool {
	return o == Create && subresource == "" && resource.Namespaced
}

// find returns the plug-in with a name; nil when there is none.
func find(name string) *plugin {
	for i := range plugins {
		if plugins[i].name == name {
			return &plugins[i]
		}
	}
	return nil
}

// Names lists the plug-ins that are on by default, or those that are off.
func Names(off bool) []string {
	var names []string
	for _, p := range plugins {
		if p.optional == off {
			names = append(names, p.name)
		}
	}
	return names
}
