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
	name     string
	deletes  bool   // handles deletes too
	connects bool   // handles connections too
	optional bool   // off unless it is enabled
	since    string // the release that it came in; "" for the oldest one
	gate     string // without which it does nothing; "" for none
	early    bool   // 1.25 has it without its gate
	rule
}

// rule is the code of a plug-in. It is apart from the names, which servers without plug-ins
// have too.
type rule struct {
	admit, check func(c *Chain, ctx context.Context, r *Request) error
	waits        func(c *Chain, o Operation, resource *api.Resource, subresource string) bool // whether it may block; nil for never
	// about are the plurals of the resources that it looks at; nil for any. Others cost no
	// look at the clock.
	about []string
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

// plugins are all plug-ins of 1.25, those of policies, and later ones for pods, in the order in which they run.
var plugins = [...]plugin{
	{name: "AlwaysAdmit", optional: true},
	{name: "NamespaceAutoProvision", optional: true}, // objects.Config.ProvidesNamespaces
	{name: "NamespaceLifecycle"},                     // nothing is created in a missing or terminating namespace
	{name: "NamespaceExists", optional: true},
	{name: "SecurityContextDeny", optional: true},
	{name: "LimitPodHardAntiAffinityTopology", optional: true},
	{name: "LimitRanger"},
	{name: "ServiceAccount"},
	{name: "NodeRestriction", deletes: true, optional: true},
	{name: "TaintNodesByCondition"},
	{name: "AlwaysPullImages", optional: true},
	{name: "ImagePolicyWebhook", optional: true},
	{name: "PodSecurity"},
	{name: "PodNodeSelector", optional: true},
	{name: "Priority"},
	{name: "DefaultTolerationSeconds"},
	{name: "PodTolerationRestriction", optional: true},
	{name: "EventRateLimit", optional: true},
	{name: "ExtendedResourceToleration", optional: true},
	{name: "PersistentVolumeLabel", optional: true},
	{name: "DefaultStorageClass"},
	{name: "StorageObjectInUseProtection"},
	{name: "PodGroupProtection", since: "1.36", gate: "GenericWorkload"},
	{name: "OwnerReferencesPermissionEnforcement", optional: true},
	{name: "PersistentVolumeClaimResize"},
	{name: "RuntimeClass"},
	{name: "CertificateApproval"},
	{name: "CertificateSigning"},
	{name: "ClusterTrustBundleAttest", since: "1.27", gate: "ClusterTrustBundle"},
	{name: "CertificateSubjectRestriction"},
	{name: "DefaultIngressClass"},
	{name: "DenyServiceExternalIPs", optional: true},
	{name: "PodTopologyLabels", since: "1.33", gate: "PodTopologyLabelsAdmission"},
	{name: "PodGroupWorkloadExists", since: "1.36", gate: "GenericWorkload"},
	{name: "NodeDeclaredFeatureValidator", since: "1.35", gate: "NodeDeclaredFeatures"},
	{name: "JobValidation", since: "1.36", gate: "GenericWorkload"},
	{name: "PodResizeValidator", since: "1.36"},
	{name: mutatingPolicy, connects: true, gate: mutatingPolicy, early: true},
	{name: mutatingWebhook, deletes: true, connects: true},
	{name: "ValidatingAdmissionPolicy", deletes: true, connects: true, gate: "ValidatingAdmissionPolicy", early: true},
	{name: "ValidatingAdmissionWebhook", deletes: true, connects: true},
	{name: "ResourceQuota"},
	{name: "AlwaysDeny", deletes: true, connects: true, optional: true},
}

// rules are the code of the plug-ins, by name.
func rules() map[string]rule {
	return map[string]rule{
		"SecurityContextDeny":                  {check: (*Chain).denyContexts, about: []string{"pods"}},
		"LimitPodHardAntiAffinityTopology":     {check: (*Chain).limitAntiAffinity, about: []string{"pods"}},
		"LimitRanger":                          {admit: (*Chain).fillLimits, check: (*Chain).checkLimits},
		"ServiceAccount":                       {admit: (*Chain).serviceAccount, waits: awaitsAccount, about: []string{"pods"}},
		"NodeRestriction":                      {admit: (*Chain).restrictNode},
		"TaintNodesByCondition":                {admit: (*Chain).taintNode, about: []string{"nodes"}},
		"AlwaysPullImages":                     {admit: (*Chain).pullImages, check: (*Chain).checkPulling, about: []string{"pods"}},
		"ImagePolicyWebhook":                   {check: (*Chain).reviewImages, waits: awaitsImages, about: []string{"pods"}},
		"PodSecurity":                          {check: (*Chain).podSecurity, waits: awaitsPods},
		"PodNodeSelector":                      {admit: (*Chain).selectNodes, check: (*Chain).checkSelector, about: []string{"pods"}},
		"Priority":                             {admit: (*Chain).priority, check: (*Chain).oneDefault, about: []string{"pods", "podgroups", "priorityclasses"}},
		"DefaultTolerationSeconds":             {admit: (*Chain).tolerations, about: []string{"pods"}},
		"PodTolerationRestriction":             {admit: (*Chain).addTolerations, check: (*Chain).checkTolerations, about: []string{"pods"}},
		"EventRateLimit":                       {check: (*Chain).limitEvents},
		"ExtendedResourceToleration":           {admit: (*Chain).tolerateExtended, about: []string{"pods"}},
		"PersistentVolumeLabel":                {admit: (*Chain).labelVolume, about: []string{"persistentvolumes"}},
		"DefaultStorageClass":                  {admit: (*Chain).defaultStorageClass, about: []string{"persistentvolumeclaims"}},
		"StorageObjectInUseProtection":         {admit: (*Chain).protect, about: []string{"persistentvolumes", "persistentvolumeclaims", "volumeattributesclasses"}},
		"PodGroupProtection":                   {admit: (*Chain).protectGroup, about: []string{"podgroups"}},
		"OwnerReferencesPermissionEnforcement": {check: (*Chain).enforceOwners},
		"PersistentVolumeClaimResize":          {check: (*Chain).resize, about: []string{"persistentvolumeclaims"}},
		"RuntimeClass":                         {admit: (*Chain).runtimeClass, check: (*Chain).checkOverhead, about: []string{"pods"}},
		"CertificateApproval":                  {check: (*Chain).approve},
		"CertificateSigning":                   {check: (*Chain).sign},
		"ClusterTrustBundleAttest":             {check: (*Chain).attest, about: []string{"clustertrustbundles"}},
		"CertificateSubjectRestriction":        {check: (*Chain).restrictSubject},
		"DefaultIngressClass":                  {admit: (*Chain).defaultIngressClass, about: []string{"ingresses"}},
		"DenyServiceExternalIPs":               {check: (*Chain).denyExternalIPs, about: []string{"services"}},
		"PodTopologyLabels":                    {admit: (*Chain).topologyLabels, about: []string{"pods"}},
		"PodGroupWorkloadExists":               {check: (*Chain).checkTemplate, about: []string{"podgroups"}},
		"JobValidation":                        {check: (*Chain).checkParallelism, about: []string{"jobs"}},
		"NodeDeclaredFeatureValidator":         {check: (*Chain).checkFeatures, about: []string{"pods"}},
		"PodResizeValidator":                   {check: (*Chain).checkResize, about: []string{"pods"}},
		mutatingPolicy:                         {admit: (*Chain).applyMutating, waits: (*Chain).awaitsPolicies},
		mutatingWebhook:                        {admit: (*Chain).askMutating, waits: (*Chain).awaitsWebhooks},
		"ValidatingAdmissionPolicy":            {check: (*Chain).checkPolicies, waits: (*Chain).awaitsPolicies},
		"ValidatingAdmissionWebhook":           {check: (*Chain).askValidating, waits: (*Chain).awaitsWebhooks},
		"ResourceQuota":                        {check: (*Chain).charge},
		"AlwaysDeny":                           {admit: (*Chain).denyAll, check: (*Chain).denyAll},
	}
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
