"""The configuration as the scheduler sees it: defaulted, merged, and read-only.

`schema.py` derives from the structs what a file may say, `defaults.py` makes them, `validate.py` and `construct.py`
check them, `load.py` writes them out again.
"""

from __future__ import annotations

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

    name: str = ""
    weight: Int32 = 0


class PluginSet(msgspec.Struct, frozen=True, rename="camel"):
    """The plugins of one extension point; a disabled `*` means every plugin that comes from elsewhere."""

    enabled: tuple[ListedPlugin, ...] = ()
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

    def names(self) -> frozenset[str]:
        """Name every plugin that is enabled anywhere."""
        return frozenset(plugin.name for point in self.__struct_fields__ for plugin in self.at(point).enabled)


def absent_points(gates: FeatureGates) -> frozenset[str]:
    """Name the points that the release has not got."""
    return frozenset() if gates.changed("PodGroupPostFilter") else frozenset({"pod_group_post_filter"})


class PluginConfig(msgspec.Struct, frozen=True):
    """The arguments given to one plugin: `Arguments`, of which a file tells nothing."""

    name: str = ""
    args: Annotated[Any, Scalar("any", "runtime.RawExtension")] = None


class KubeSchedulerProfile(msgspec.Struct, frozen=True, rename="camel"):
    """One way to schedule, chosen by a pod through its scheduler name.

    `arguments` keeps the order of the file, because error messages count in it.
    """

    scheduler_name: str = ""
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    arguments: tuple[PluginConfig, ...] = msgspec.field(default=(), name="pluginConfig")

    @property
    def plugin_config(self) -> dict[str, Arguments]:
        """The arguments by plugin name."""
        return {given.name: given.args for given in self.arguments}


class LeaderElection(msgspec.Struct, frozen=True, rename="camel"):
    api_name: ClassVar[str] = "v1alpha1.LeaderElectionConfiguration"

    leader_elect: bool = True
    lease_duration: _Seconds = of_seconds(15)
    renew_deadline: _Seconds = of_seconds(10)
    retry_period: _Seconds = of_seconds(2)
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnection(msgspec.Struct, frozen=True, rename="camel"):
    api_name: ClassVar[str] = "v1alpha1.ClientConnectionConfiguration"

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50
    burst: Int32 = 100


class ExtenderTLSConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Data is base64 text, and wins over the file of the same meaning."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: _Base64 = ""
    key_data: _Base64 = ""
    ca_data: _Base64 = ""


class ExtenderManagedResource(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderConfig(msgspec.Struct, frozen=True, rename="camel"):
    """A web service that is asked beside the plugins; an empty verb means that it is not asked for that."""

    api_name: ClassVar[str] = "v1.Extender"

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: _Seconds = Duration()
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class Configuration(msgspec.Struct, frozen=True, rename="camel"):
    api_name: ClassVar[str] = "v1.KubeSchedulerConfiguration"
    has_kind: ClassVar[bool] = True

    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[ExtenderConfig, ...] = ()
    delay_cache_until_active: bool = False
