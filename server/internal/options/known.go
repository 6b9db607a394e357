package options

import (
	"github.com/capstan-dev/capstan/internal/gen/gates"
)

// features are the features of a release, by the names of their gates.
type features map[string]feature

// effects are the effects of gates on this server, besides those on fields.
var effects = map[string]string{
	ListChunking:    "lists in pages; without it limit and continue are ignored",
	FieldValidation: "unknown and duplicate fields are reported; without it they are dropped and nothing is said",
	RemainingCount:  "a page of a list says how many objects follow it",
	Compression:     "large answers are compressed for clients that accept it",
	OpenAPIV3:       "documents below /openapi/v3",
	VersionHashes:   "discovery says by a hash how a resource is stored",
	DryRun:          "writes that are tried only (dryRun=All); without it they are refused",
	CBOR:            "requests, answers and watches in CBOR for clients that ask for it",
	"AllowInsecureKubeletCertificateSigningRequests": "NodeRestriction lets an agent ask for a certificate of another node",
	"AllowParsingUserUIDFromCertAuth":                "a client certificate may name the uid of its user",
	"AnonymousAuthConfigurableEndpoints":             "a file names the paths for requests without credentials (--authentication-config)",
	"StructuredAuthenticationConfiguration":          "a file names the issuers of ID tokens (--authentication-config)",
	"StructuredAuthorizationConfiguration":           "a file names the authorizers (--authorization-config)",
	"ConstrainedImpersonation":                       "who acts as another user may be allowed to for single verbs (impersonate-on:user-info:list)",
	"ExternalServiceAccountTokenSigner":              "another program signs the tokens of service accounts (--service-account-signing-endpoint)",
	"MutatingAdmissionPolicy":                        "policies change objects (MutatingAdmissionPolicy)",
	"NodeDeclaredFeatures":                           "a pod is not changed in ways that its node lacks the features for",
	"ValidatingAdmissionPolicy":                      "policies check objects (ValidatingAdmissionPolicy)",
	"AuthorizeNodeWithSelectors":                     "the agent of a node reads its own node and the pods on it only",
	"AuthorizeWithSelectors":                         "authorizers see the selectors of requests",
	"DRAResourceClaimGranularStatusAuthorization":    "who may write which part of the status of a claim on devices is asked of the authorizers",
	"ServiceAccountNodeAudienceRestriction":          "NodeRestriction grants an agent tokens for audiences that its pods name",
	"ServiceAccountTokenJTI":                         "tokens of service accounts have an id",
	"ServiceAccountTokenNodeBinding":                 "tokens of service accounts may be bound to a node",
	"ServiceAccountTokenNodeBindingValidation":       "tokens that are bound to a node are accepted",
	"ServiceAccountTokenPodNodeInfo":                 "a token that is bound to a pod names the pod's node",
	"TokenRequestServiceAccountUIDValidation":        "a request for a token that names another uid of its account is refused",
	ServiceRanges:    "addresses of services are allocated from ServiceCIDR objects, and have IPAddress objects",
	NoDualWrites:     "addresses that have objects have no allocations as in earlier releases beside",
	PriorityFairness: "requests wait by flow schemas and priority levels; without it reads and writes are bounded",
}

// ruled are the features that hand-written rules of objects ask for, besides those that keep fields.
var ruled = map[string]bool{"AppArmorFields": true, "ClearingNominatedNodeNameAfterBinding": true,
	"DefaultHostNetworkHostPortsInPodTemplates": true, "GitRepoVolumeDriver": true, "ImageVolume": true, "InPlacePodVerticalScaling": true,
	"InPlacePodVerticalScalingInitContainers": true, "JobManagedBy": true, "JobPodReplacementPolicy": true, "LoadBalancerIPMode": true,
	"MatchLabelKeysInPodAffinity": true, "MatchLabelKeysInPodTopologySpreadSelectorMerge": true, "MutablePodResourcesForSuspendedJobs": true,
	"MutableSchedulingDirectivesForSuspendedJobs": true, "PersistentVolumeLastPhaseTransitionTime": true, "PodDisruptionConditions": true,
	"PodHostIPs": true, "PodLifecycleSleepActionAllowZero": true, "PodTopologyLabelsAdmission": true, "RecoverVolumeExpansionFailure": true,
	"RelaxedDNSSearchValidation": true, "RetroactiveDefaultStorageClass": true, "SELinuxMount": true, "SidecarContainers": true, "SkipReadOnlyValidationGCE": true,
	"StrictIPCIDRValidation":             true,
	"TaintTolerationComparisonOperators": true, "UserNamespacesHostNetworkSupport": true}

// granted are the features without another effect that add to the roles of a cluster, or to the kinds that are served.
var granted = map[string]bool{"APISelfSubjectReview": true, "APIServerIdentity": true, "ClusterTrustBundle": true, "ComponentFlagz": true,
	"ComponentStatusz": true, "DRADeviceTaintRules": true, "DRAExtendedResource": true,
	"DRAResourcePoolStatus": true, "KubeletFineGrainedAuthz": true,
	"KubeletServiceAccountTokenForCredentialProviders": true,
	"LegacyServiceAccountTokenCleanUp":                 true, "MultiCIDRServiceAllocator": true, "PodCertificateRequest": true, "SELinuxChangePolicy": true,
	"StatefulSetAutoDeletePVC": true, "StorageVersionAPI": true, "StorageVersionMigrator": true,
	"VolumeAttributesClass": true, "WorkloadWithJob": true}

var stages = map[string]stage{"alpha": alpha, "beta": beta, "stable": stable, "deprecated": deprecated}

// featuresOf are the features of a release. The gates of the usual one are those of kube-apiserver 1.25, and those of features
// that were stable before, which old command lines may still name.
func featuresOf(release string) features {
	all := features{}
	fields := gates.Fields()
	for name, g := range gates.Of(release) {
		f := feature{stage: stages[g.Stage], on: g.On, locked: g.Locked, needs: g.Needs, ended: g.Ended, does: effects[name]}
		switch {
		case fields[name] != "":
			f.does = "objects keep " + fields[name]
		case f.does == "" && ruled[name]:
			f.does = "rules and defaults of objects, as kube-apiserver has them"
		case f.does == "" && granted[name]:
			f.does = "roles of the cluster and kinds that are served, as kube-apiserver has them"
		}
		all[name] = f
	}
	return all
}
