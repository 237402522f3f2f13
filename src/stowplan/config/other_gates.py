"""The feature gates of Kubernetes that do not concern scheduling, with their stages.

kube-scheduler has them all, so that one list may be given to every part of a control plane. Nothing here asks for
them; `feature_gates.py` has those that matter, and reads what is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from stowplan.config.gate import (
    DEPRECATED_LOCKED_OFF,
    DEPRECATED_LOCKED_ON,
    DEPRECATED_OFF,
    DEPRECATED_ON,
    LOCKED,
    OFF_ALPHA,
    OFF_BETA,
    ON_BETA,
    ON_GA,
    Gate,
    Stage,
)

# In 1.36, in 1.37, and the names; None: there is no such gate.
_STAGES: Final[tuple[tuple[Stage | None, Stage | None, str], ...]] = (
    (
        ON_BETA,
        ON_BETA,
        """
        APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO
        AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions CRDObservedGenerationTracking
        ClientsAllowCARotation ClientsAllowTLSCacheGC ConstrainedImpersonation ContainerCheckpoint
        ContainerRestartRules ContextualLogging DRAResourceClaimGranularStatusAuthorization
        DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency EnvFiles
        ExtendWebSocketsToKubelet GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority
        InOrderInformersBatchProcess KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
        KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
        LoggingBetaOptions MatchLabelKeysInPodTopologySpreadSelectorMerge MutablePodResourcesForSuspendedJobs
        MutableSchedulingDirectivesForSuspendedJobs OpenAPIEnums PodDeletionCost PodTopologyLabelsAdmission
        PortForwardWebsockets ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
        RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
        RestartAllContainersOnContainerExits RotateKubeletServerCertificate
        ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet
        StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
        StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation
        StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
        TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions
        TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation
        UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO WatchListClient
        WindowsGracefulNodeShutdown
        """,
    ),
    (
        LOCKED,
        LOCKED,
        """
        CPUManagerPolicyOptions CRDValidationRatcheting CSIServiceAccountTokenSecrets
        CustomResourceFieldSelectors DeclarativeValidation DisableAllocatorDualWrite ExecProbeTimeout
        ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume InOrderInformers JobManagedBy
        KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources
        KubeletPodResourcesGet KubeletTracing MultiCIDRServiceAllocator MutableCSINodeAllocatableCount
        NFTablesProxyMode NodeLogQuery NodeSwap PodObservedGenerationTracking PreferSameTrafficDistribution
        ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts RelaxedEnvironmentVariableValidation
        SELinuxChangePolicy SELinuxMountReadWriteOncePod SeparateTaintEvictionController ServiceAccountTokenJTI
        ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo
        SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport WinDSR
        WinOverlay
        """,
    ),
    (
        OFF_ALPHA,
        OFF_ALPHA,
        """
        APIServingWithRoutine CBORServingAndStorage CPUManagerPolicyAlphaOptions CRIListStreaming
        CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR CloudControllerManagerWatchBasedRoutesReconciliation
        CloudControllerManagerWebhook ContainerStopSignals CrossNamespaceVolumeDataSource DRAResourcePoolStatus
        EventedPLEG ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
        InPlacePodVerticalScalingExclusiveMemory LoggingAlphaOptions MutablePVNodeAffinity
        PodLogsQuerySplitStreams QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi
        ShardedListAndWatch StorageVersionAPI TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport
        WindowsCPUAndMemoryAffinity WorkloadWithJob
        """,
    ),
    (
        LOCKED,
        None,
        """
        APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AuthorizeNodeWithSelectors
        AuthorizeWithSelectors BtreeWatchCache ConsistentListFromCache JobBackoffLimitPerIndex
        JobPodReplacementPolicy JobSuccessPolicy LogarithmicScaleDown OrderedNamespaceDeletion
        PodLifecycleSleepAction PodLifecycleSleepActionAllowZero RelaxedDNSSearchValidation
        ResilientWatchCacheInitialization RetryGenerateName StreamingCollectionEncodingToJSON
        StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
        """,
    ),
    (
        None,
        OFF_ALPHA,
        """
        APIServerWebhookAuthenticationToken AtomicWriteVolumeUserFields
        ConsistentListFromCacheSkipTimeoutFallback DefaultPodSysctls EmptyDirVolumeMode GRPCContainerProbeTLS
        H2CContainerProbe InPlacePodVerticalScalingMemoryBackedVolumes KubeProxyNFTablesLocalhostNodePorts
        KubeletAllocatedPodsEndpoint NodeLifecycleConditions StatefulSetRecreateStrategy
        """,
    ),
    (
        None,
        ON_BETA,
        """
        EtcdRangeStream ExcludeAdmissionWebhookVirtualResources HPAGeneration HPAOptimizedSelectorStore
        HugepageAwareEviction NFTablesNetlink NodeControllerLeaseCircuitBreaker
        PodLevelResourcesFixKubeletQOSClass StaleControllerConsistencyHPA WatchListCompression
        WebhookRoundTripLoadBalancing
        """,
    ),
    (
        OFF_ALPHA,
        ON_BETA,
        """
        AllowUnsafeMalformedObjectDeletion HPAScaleToZero KubeletInUserNamespace
        ManifestBasedAdmissionControlConfig MemoryQoS NativeHistograms PersistentVolumeClaimUnusedSinceTime
        PodsAPI
        """,
    ),
    (
        ON_BETA,
        LOCKED,
        """
        HPAConfigurableTolerance HostnameOverride InPlacePodVerticalScalingInitContainers PLEGOnDemandRelist
        PodReadyToStartContainersCondition RelaxedServiceNameValidation WatchCacheInitializationPostStartHook
        """,
    ),
    (
        DEPRECATED_OFF,
        DEPRECATED_OFF,
        """
        AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests ChangeContainerStatusOnKubeletRestart
        KMSv1 KubeletRegistrationGetOnExistsOnly WindowsHostNetwork
        """,
    ),
    (
        OFF_BETA,
        ON_GA,
        """
        ClusterTrustBundle ClusterTrustBundleProjection PodCertificateRequest SELinuxMount
        StorageVersionMigrator
        """,
    ),
    (
        ON_GA,
        ON_GA,
        """
        AllowServiceExternalIPs CustomCPUCFSQuotaPeriod InformerResourceVersion MutatingAdmissionPolicy
        """,
    ),
    (
        DEPRECATED_LOCKED_OFF,
        DEPRECATED_LOCKED_OFF,
        """
        AllowOverwriteTerminationGracePeriodSeconds GitRepoVolumeDriver SeparateCacheWatchRPC
        """,
    ),
    (
        DEPRECATED_ON,
        DEPRECATED_ON,
        """
        KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping StorageNamespaceIndex
        """,
    ),
    (
        DEPRECATED_LOCKED_ON,
        DEPRECATED_LOCKED_ON,
        """
        AggregatedDiscoveryRemoveBetaType DisableNodeKubeProxyVersion
        """,
    ),
    (
        OFF_ALPHA,
        OFF_BETA,
        """
        PodAndContainerStatsFromCRI PodLevelResourceManagers
        """,
    ),
    (
        OFF_BETA,
        ON_BETA,
        """
        ConcurrentWatchObjectDecode MaxUnavailableStatefulSet
        """,
    ),
    (
        None,
        DEPRECATED_ON,
        """
        KubeProxyIPVS
        """,
    ),
    (
        DEPRECATED_OFF,
        DEPRECATED_LOCKED_OFF,
        """
        DeclarativeValidationTakeover
        """,
    ),
    (
        DEPRECATED_ON,
        DEPRECATED_LOCKED_ON,
        """
        DisableCPUQuotaWithExclusiveCPUs
        """,
    ),
    (
        OFF_BETA,
        OFF_BETA,
        """
        LocalStorageCapacityIsolationFSQuotaMonitoring
        """,
    ),
    (
        ON_BETA,
        None,
        """
        PreventStaticPodAPIReferences
        """,
    ),
)
_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "ClusterTrustBundleProjection": ("ClusterTrustBundle",),
    "DRAResourceClaimGranularStatusAuthorization": ("DRAResourceClaimDeviceStatus",),
    "EventedPLEG": ("PLEGOnDemandRelist",),
    "ExtendWebSocketsToKubelet": ("NodeDeclaredFeatures",),
    "GracefulNodeShutdownBasedOnPodPriority": ("GracefulNodeShutdown",),
    "H2CContainerProbe": ("NodeDeclaredFeatures",),
    "InPlacePodVerticalScalingInitContainers": ("NodeDeclaredFeatures",),
    "InPlacePodVerticalScalingMemoryBackedVolumes": ("NodeDeclaredFeatures",),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("MatchLabelKeysInPodTopologySpread",),
    "NodeControllerLeaseCircuitBreaker": ("AtomicFIFO",),
    "PodLevelResourceManagers": ("PodLevelResources",),
    "PodLevelResourcesFixKubeletQOSClass": ("PodLevelResources",),
    "ResourceHealthStatusMessage": ("ResourceHealthStatus",),
    "RestartAllContainersOnContainerExits": (
        "ContainerRestartRules",
        "NodeDeclaredFeatures",
    ),
    "StaleControllerConsistencyDaemonSet": ("AtomicFIFO",),
    "StaleControllerConsistencyHPA": ("AtomicFIFO",),
    "StaleControllerConsistencyJob": ("AtomicFIFO",),
    "StaleControllerConsistencyReplicaSet": ("AtomicFIFO",),
    "StaleControllerConsistencyStatefulSet": ("AtomicFIFO",),
    "StorageVersionAPI": ("APIServerIdentity",),
    "UnknownVersionInteroperabilityProxy": ("APIServerIdentity",),
    "UserNamespacesHostNetworkSupport": ("NodeDeclaredFeatures",),
    "WindowsGracefulNodeShutdown": ("GracefulNodeShutdown",),
    "WorkloadWithJob": ("GenericWorkload",),
}


def _gate(name: str, before: Stage | None, now: Stage | None) -> Gate:
    stages = {release: stage for release, stage in (("1.36", before), ("1.37", now)) if stage is not None}
    return Gate(stages, needs=_NEEDS.get(name, ()), removed_in="" if now else "1.37")


OTHER_GATES: Final[Mapping[str, Gate]] = MappingProxyType(
    {name: _gate(name, before, now) for before, now, names in _STAGES for name in names.split()}
)
