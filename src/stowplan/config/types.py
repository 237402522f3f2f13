"""The configuration as the scheduler sees it: defaulted, merged, and read-only.

`schema.py` derives from the structs what a file may say, `defaults.py` makes them, `validate.py` and `construct.py`
check them, `load.py` writes them out again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from stowplan.config.declarations import Arguments
from stowplan.config.feature_gates import FeatureGates
from stowplan.config.schema import Scalar
from stowplan.model.duration import Duration, of_seconds
from stowplan.model.meta import Int32

# One that is there has to be a duration: null is none.
_Seconds = Annotated[Duration, Scalar("duration", "string", may_be_null=False)]
_Base64 = Annotated[str, Scalar("base64", "[]uint8")]


class ListedPlugin(msgspec.Struct, frozen=True, rename="camel"):
    """A plugin in a list; weight 0 means that none was given."""

    api_name: ClassVar[str] = "v1.Plugin"

    #: Name of a plugin, `*` (under `disabled` only), or `where:Class` for one that is not registered.
    name: str = ""
    #: What its scores are multiplied by; 0, or none, is 1.
    weight: Int32 = 0


class PluginSet(msgspec.Struct, frozen=True, rename="camel"):
    """The plugins of one extension point; a disabled `*` means every plugin that comes from elsewhere."""

    #: Plugins to run beside the default ones, in this order; one that is a default plugin is given another weight.
    enabled: tuple[ListedPlugin, ...] = ()
    #: Default plugins to leave out; `*` leaves out all.
    disabled: tuple[ListedPlugin, ...] = ()


class Plugins(msgspec.Struct, frozen=True, rename="camel"):
    """One set per extension point, `multi_point` not yet spread out: `construct.py` does that.

    A point that the release has not got has None.
    """

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet | None = PluginSet()

    def at(self, point: str) -> PluginSet:
        """Give the set of a point by its name, such as `pre_filter` or `multi_point`."""
        found: PluginSet | None = getattr(self, point)
        return found if found is not None else PluginSet()

    def has(self, point: str) -> bool:
        """Say whether there is such a point in the release."""
        return getattr(self, point) is not None

    def names(self, but_at: str = "") -> frozenset[str]:
        """Name every plugin that is enabled anywhere, or anywhere but at a point."""
        points = (point for point in self.__struct_fields__ if point != but_at)
        return frozenset(plugin.name for point in points for plugin in self.at(point).enabled)


def absent_points(gates: FeatureGates) -> frozenset[str]:
    """Name the points that the release has not got."""
    return frozenset() if gates.changed("PodGroupPostFilter") else frozenset({"pod_group_post_filter"})


class PluginConfig(msgspec.Struct, frozen=True):
    """The arguments given to one plugin: `Arguments`, of which a file tells nothing."""

    #: Name of the plugin.
    name: str = ""
    #: Its arguments: one of the types of the plugins below, or what a plugin of your own takes.
    args: Annotated[Any, Scalar("any", "runtime.RawExtension")] = None


class KubeSchedulerProfile(msgspec.Struct, frozen=True, rename="camel"):
    """One way to schedule, chosen by a pod through its scheduler name.

    `arguments` keeps the order of the file, because error messages count in it.
    """

    #: Pods with this `spec.schedulerName` are scheduled by the profile; a single profile is `default-scheduler`
    #: if it says nothing.
    scheduler_name: str = ""
    #: As of the configuration, for this profile alone.
    percentage_of_nodes_to_score: Int32 | None = None
    #: Which plugins run, beside or in place of the default ones.
    plugins: Plugins = Plugins()
    #: Arguments of plugins, by name.
    arguments: tuple[PluginConfig, ...] = msgspec.field(default=(), name="pluginConfig")

    @property
    def plugin_config(self) -> dict[str, Arguments]:
        """The arguments by plugin name."""
        return {given.name: given.args for given in self.arguments}


class LeaderElection(msgspec.Struct, frozen=True, rename="camel"):
    api_name: ClassVar[str] = "v1alpha1.LeaderElectionConfiguration"

    #: Schedule only while holding the lease, so that several replicas can run.
    leader_elect: bool = True
    #: How long others wait for a leader that does not renew; longer than `renewDeadline`.
    lease_duration: _Seconds = of_seconds(15)
    #: How long the leader tries to renew before it gives up.
    renew_deadline: _Seconds = of_seconds(10)
    #: Time between two attempts to get or renew the lease.
    retry_period: _Seconds = of_seconds(2)
    #: Sort of object used as a lock; only `leases`.
    resource_lock: str = "leases"
    #: Name of the lease.
    resource_name: str = "kube-scheduler"
    #: Namespace of the lease.
    resource_namespace: str = "kube-system"


class ClientConnection(msgspec.Struct, frozen=True, rename="camel"):
    api_name: ClassVar[str] = "v1alpha1.ClientConnectionConfiguration"

    #: Kubeconfig of the API server; without one, the service account of the pod.
    kubeconfig: str = ""
    #: Changes nothing: answers are JSON.
    accept_content_types: str = ""
    #: Content type of bindings: `application/json` or `application/vnd.kubernetes.protobuf`.
    content_type: str = "application/vnd.kubernetes.protobuf"
    #: Requests per second to the API server; below 0 there is no limit.
    qps: float = 50
    #: Requests that may be made at once, if fewer were made before.
    burst: Int32 = 100


class ExtenderTLSConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Data is base64 text, and wins over the file of the same meaning."""

    #: Do not verify the certificate of the extender.
    insecure: bool = False
    #: Name to expect in its certificate, and to ask for.
    server_name: str = ""
    #: File with the certificate to show.
    cert_file: str = ""
    #: File with the key of that certificate.
    key_file: str = ""
    #: File with the authorities to trust.
    ca_file: str = ""
    #: The certificate itself, in base64.
    cert_data: _Base64 = ""
    #: The key itself, in base64.
    key_data: _Base64 = ""
    #: The authorities themselves, in base64.
    ca_data: _Base64 = ""


class ExtenderManagedResource(msgspec.Struct, frozen=True, rename="camel"):
    #: Name of an extended resource, such as `example.com/gpu`.
    name: str = ""
    #: NodeResourcesFit leaves the resource to the extender.
    ignored_by_scheduler: bool = False


class ExtenderConfig(msgspec.Struct, frozen=True, rename="camel"):
    """A web service that is asked beside the plugins; an empty verb means that it is not asked for that."""

    api_name: ClassVar[str] = "v1.Extender"

    #: Where the extender is; verbs are put behind it.
    url_prefix: str = ""
    #: Path of the call that rejects nodes.
    filter_verb: str = ""
    #: Path of the call that agrees to preemption.
    preempt_verb: str = ""
    #: Path of the call that scores nodes.
    prioritize_verb: str = ""
    #: What its scores are multiplied by; needed with `prioritizeVerb`.
    weight: int = 0
    #: Path of the call that binds in place of the plugins; one extender may have it.
    bind_verb: str = ""
    #: Use HTTPS.
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    #: Certificates for HTTPS.
    tls_config: ExtenderTLSConfig | None = None
    #: How long a call may take; 0 is 5 s.
    http_timeout: _Seconds = Duration()
    #: It knows the nodes: it is sent names, not objects.
    node_cache_capable: bool = False
    #: Ask it only about pods that request one of these; none asks about every pod.
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    #: Go on without it when it fails.
    ignorable: bool = False


class Configuration(msgspec.Struct, frozen=True, rename="camel"):
    api_name: ClassVar[str] = "v1.KubeSchedulerConfiguration"
    has_kind: ClassVar[bool] = True
    api_parts: ClassVar[Mapping[str, str]] = {
        "enableProfiling": "DebuggingConfiguration",
        "enableContentionProfiling": "DebuggingConfiguration",
    }

    #: 1 takes the first of equally good nodes; changes nothing else, as one thread decides. Greater than 0.
    parallelism: Int32 = 16
    #: Which of several replicas schedules.
    leader_election: LeaderElection = LeaderElection()
    #: How the API server is talked to.
    client_connection: ClientConnection = ClientConnection()
    #: Serve `/debug`.
    enable_profiling: bool = True
    #: Changes nothing: Python has no such profile. Follows `enableProfiling`.
    enable_contention_profiling: bool = True
    #: How many nodes to look for, in percent, before one is chosen; 0 looks at every node. 0 to 100.
    percentage_of_nodes_to_score: Int32 = 0
    #: First pause of a pod that failed; greater than 0.
    pod_initial_backoff_seconds: int = 1
    #: Longest pause; not below the first.
    pod_max_backoff_seconds: int = 10
    #: Ways to schedule; each has a name of its own.
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    #: Web services that are asked beside the plugins.
    extenders: tuple[ExtenderConfig, ...] = ()
    #: Do not watch the cluster before this replica leads.
    delay_cache_until_active: bool = False
