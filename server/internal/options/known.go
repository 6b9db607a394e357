package options

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/gen/gates"
)

// knownFeatures are the gates of kube-apiserver 1.25, and those of features that
// were stable before, which old command lines may still name.
var knownFeatures = func() map[string]feature {
	all := map[string]feature{}
	for _, list := range []struct {
		names string
		feature
	}{
		{alphaFeatures, feature{stage: alpha}},
		{betaFeatures, feature{stage: beta}},
		{betaOffFeatures, feature{stage: beta, off: true}},
		{stableFeatures, feature{stage: stable}},
		{deprecatedFeatures, feature{stage: deprecated}},
	} {
		for name := range strings.FieldsSeq(list.names) {
			all[name] = list.feature
		}
	}
	for name, does := range map[string]string{
		ListChunking:     "lists in pages; without it limit and continue are ignored",
		FieldValidation:  "unknown and duplicate fields are reported; without it they are dropped and nothing is said",
		RemainingCount:   "a page of a list says how many objects follow it",
		Compression:      "large answers are compressed for clients that accept it",
		OpenAPIV3:        "documents below /openapi/v3",
		VersionHashes:    "discovery says by a hash how a resource is stored",
		PriorityFairness: "requests wait by flow schemas and priority levels; without it reads and writes are bounded",
	} {
		f := all[name]
		f.does = does
		all[name] = f
	}
	for name, fields := range gates.Fields() {
		f := all[name]
		f.does = "objects keep " + fields
		all[name] = f
	}
	return all
}()

const alphaFeatures = `
	APIServerIdentity APIServerTracing CPUManagerPolicyAlphaOptions CSIMigrationRBD CSINodeExpandSecret CSIVolumeHealth
	ContainerCheckpoint ContextualLogging CustomCPUCFSQuotaPeriod DisableCloudProviders DisableKubeletCloudCredentialProviders
	ExpandedDNSConfig HPAContainerMetrics HPAScaleToZero HonorPVReclaimPolicy IPTablesOwnershipCleanup
	InTreePluginAWSUnregister InTreePluginAzureDiskUnregister InTreePluginAzureFileUnregister InTreePluginGCEUnregister
	InTreePluginOpenStackUnregister InTreePluginPortworxUnregister InTreePluginRBDUnregister InTreePluginvSphereUnregister
	JobPodFailurePolicy KMSv2 KubeletInUserNamespace KubeletTracing LocalStorageCapacityIsolationFSQuotaMonitoring
	LoggingAlphaOptions MatchLabelKeysInPodTopologySpread MaxUnavailableStatefulSet MemoryQoS MultiCIDRRangeAllocator
	NetworkPolicyStatus NodeInclusionPolicyInPodTopologySpread NodeOutOfServiceVolumeDetach NodeSwap
	PodAndContainerStatsFromCRI PodDisruptionConditions PodHasNetworkCondition ProcMountType ProxyTerminatingEndpoints
	QOSReserved ReadWriteOncePod RecoverVolumeExpansionFailure RetroactiveDefaultStorageClass SELinuxMountReadWriteOncePod
	StatefulSetAutoDeletePVC StorageVersionAPI UserNamespacesStatelessPodsSupport VolumeCapacityPriority WinDSR
`

const betaFeatures = `
	APIListChunking APIPriorityAndFairness APIResponseCompression AllowInsecureBackendProxy AnyVolumeDataSource AppArmor
	CPUManager CPUManagerPolicyBetaOptions CPUManagerPolicyOptions CSIMigrationAzureFile CSIMigrationvSphere CronJobTimeZone
	CustomResourceValidationExpressions DelegateFSGroupToCSIDriver DevicePlugins DownwardAPIHugePages
	EndpointSliceTerminatingCondition GRPCContainerProbe GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority
	JobMutableNodeSchedulingDirectives JobReadyPods JobTrackingWithFinalizers KubeletCredentialProviders KubeletPodResources
	KubeletPodResourcesGetAllocatable LegacyServiceAccountTokenNoAutoGeneration LogarithmicScaleDown LoggingBetaOptions
	MemoryManager MixedProtocolLBService OpenAPIEnums OpenAPIV3 PodDeletionCost ProbeTerminationGracePeriod
	RemainingItemCount RotateKubeletServerCertificate SeccompDefault ServerSideFieldValidation ServiceIPStaticSubrange
	ServiceInternalTrafficPolicy SizeMemoryBackedVolumes StorageVersionHash TopologyAwareHints TopologyManager WinOverlay
	WindowsHostProcessContainers
`

const betaOffFeatures = `CSIMigrationPortworx ExperimentalHostUserNamespaceDefaulting MinDomainsInPodTopologySpread`

const stableFeatures = `
	AdvancedAuditing BoundServiceAccountTokenVolume CSIInlineVolume CSIMigration CSIMigrationAWS CSIMigrationAzureDisk
	CSIMigrationGCE CSIMigrationOpenStack CSIStorageCapacity CSRDuration ControllerManagerLeaderMigration DaemonSetUpdateSurge
	DefaultPodTopologySpread DisableAcceleratorUsageMetrics DryRun EfficientWatchResumption EphemeralContainers
	ExecProbeTimeout ExpandCSIVolumes ExpandInUsePersistentVolumes ExpandPersistentVolumes IdentifyPodOS IndexedJob
	LocalStorageCapacityIsolation NetworkPolicyEndPort NonPreemptingPriority PodAffinityNamespaceSelector PodOverhead
	PodSecurity PreferNominatedNode RemoveSelfLink ServerSideApply ServiceLBNodePortControl ServiceLoadBalancerClass
	StatefulSetMinReadySeconds SuspendJob TokenRequest WarningHeaders WatchBookmark
`

const deprecatedFeatures = `DynamicKubeletConfig`
