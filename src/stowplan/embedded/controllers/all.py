"""Starts the rest of a cluster: every controller, the kubelet and the heartbeats, each in tasks of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from stowplan.embedded.controllers import bootstrap
from stowplan.embedded.controllers.cron_jobs import CronJobs
from stowplan.embedded.controllers.daemon_sets import DaemonSets
from stowplan.embedded.controllers.deployments import Deployments
from stowplan.embedded.controllers.disruption_budgets import DisruptionBudgets
from stowplan.embedded.controllers.ephemeral_volumes import EphemeralVolumes
from stowplan.embedded.controllers.event_expiry import EventExpiry
from stowplan.embedded.controllers.garbage import GarbageCollector
from stowplan.embedded.controllers.job_orphans import JobOrphans
from stowplan.embedded.controllers.jobs import Jobs
from stowplan.embedded.controllers.kubernetes_service import KubernetesService
from stowplan.embedded.controllers.namespaces import Namespaces
from stowplan.embedded.controllers.node_lifecycle import NodeLifecycle
from stowplan.embedded.controllers.pod_garbage import PodGarbage
from stowplan.embedded.controllers.pod_resource_claims import PodResourceClaims
from stowplan.embedded.controllers.replica_sets import ReplicaSets
from stowplan.embedded.controllers.resource_claims import ResourceClaims
from stowplan.embedded.controllers.root_certificates import NO_AUTHORITY, RootCertificates
from stowplan.embedded.controllers.service_accounts import ServiceAccounts
from stowplan.embedded.controllers.stateful_sets import StatefulSets
from stowplan.embedded.controllers.taint_eviction import TaintEviction
from stowplan.embedded.controllers.volume_claims import VolumeClaims
from stowplan.embedded.controllers.volume_protection import VolumeProtection
from stowplan.embedded.controllers.volume_provisioning import VolumeProvisioning
from stowplan.embedded.controllers.volumes import Volumes
from stowplan.embedded.following import resources
from stowplan.embedded.following.claiming_pods import ClaimingPods
from stowplan.embedded.following.device_claims import DeviceClaims
from stowplan.embedded.following.nodes import Nodes
from stowplan.embedded.following.pods import Pods
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.storage import Storage
from stowplan.embedded.kubelet.heartbeats import Heartbeats
from stowplan.embedded.kubelet.kubelet import Kubelet, Timing
from stowplan.embedded.registry.api import Api
from stowplan.embedded.registry.precedence import Precedence


@dataclass(frozen=True, slots=True)
class Options:
    """What the rest of a cluster may be told."""

    now: Callable[[], datetime]
    timing: Timing = field(default_factory=Timing)
    heartbeat_seconds: float = 10.0
    #: How long a node may be gone before its pods are removed.
    gone_node_seconds: float = 5.0
    #: Without, nothing follows from an object being there: somebody else plays the controllers.
    has_controllers: bool = True
    #: Without, claims wait until somebody else makes volumes for them; the controllers bind those all the same.
    has_provisioner: bool = True
    #: Without, pods stay as they are bound: somebody else plays the kubelets.
    has_kubelets: bool = True
    #: Whether time stands still: what objects bring about at once is there, but no pod runs, and nothing ever goes.
    is_still: bool = False
    #: The certificates by which clients know the API server, as PEM.
    authority: str = NO_AUTHORITY
    #: Whom everybody gives way to.
    precedence: Precedence | None = None


class Part(Protocol):
    """Something that works for ever."""

    def work(self) -> list[Coroutine[Any, Any, None]]: ...


def start_all(api: Api, options: Options) -> list[asyncio.Task[None]]:
    """Make what a new cluster has, and start everybody; cancel the tasks to stop them."""
    bootstrap.ensure(api)
    setting = Setting(api, Pods(api), Nodes(api), options.now)
    parts = parts_of(setting, options)
    # Everybody listens by now: what is there already is told once to all.
    setting.nodes.follower.catch_up()
    setting.pods.follower.catch_up()
    return _begin([setting.nodes.follower.run(), setting.pods.follower.run()], parts, options)


def announce(api: Api, options: Options, host: str, port: int) -> list[asyncio.Task[None]]:
    """Let the cluster know where its API is; cancel the tasks to stop."""
    setting = Setting(api, Pods(api), Nodes(api), options.now)
    return _begin([], [KubernetesService(setting, host, port)], options)


def _begin(works: list[Coroutine[Any, Any, None]], parts: list[Part], options: Options) -> list[asyncio.Task[None]]:
    for part in parts:
        works += part.work()
    precedence = options.precedence
    return [asyncio.create_task(work if precedence is None else precedence.behind(work)) for work in works]


def parts_of(setting: Setting, options: Options) -> list[Part]:
    """Make every part; none has begun to work."""
    parts = controllers_of(setting, options) if options.has_controllers else []
    if options.has_kubelets and not options.is_still:
        parts.append(Kubelet(setting, options.timing))
    if options.has_kubelets:
        parts.append(Heartbeats(setting, options.heartbeat_seconds))
    return parts


def controllers_of(setting: Setting, options: Options) -> list[Part]:
    """Make every controller."""
    replica_sets = ReplicaSets(setting, resources.apps(setting.api, "ReplicaSet"))
    jobs = Jobs(setting)
    parts: list[Part] = [
        ServiceAccounts(setting),
        NodeLifecycle(setting),
        replica_sets,
        ReplicaSets(setting, resources.find(setting.api, "v1", "ReplicationController")),
        Deployments(setting, replica_sets.follower),
        StatefulSets(setting),
        DaemonSets(setting),
        jobs,
        *claim_controllers_of(setting, options),
    ]
    if options.is_still:
        return parts
    return [
        Namespaces(setting),
        RootCertificates(setting, options.authority),
        GarbageCollector(setting),
        TaintEviction(setting),
        PodGarbage(setting, options.gone_node_seconds),
        JobOrphans(setting, jobs.follower),
        CronJobs(setting, jobs.follower),
        DisruptionBudgets(setting),
        EventExpiry(setting),
        *parts,
    ]


def claim_controllers_of(setting: Setting, options: Options) -> list[Part]:
    """Make what looks after claims, for volumes and for devices, and after what they are given."""
    storage, devices, pods = Storage(setting.api), DeviceClaims(setting.api), ClaimingPods(setting.api)
    parts: list[Part] = [
        storage,
        devices,
        pods,
        EphemeralVolumes(setting, storage, pods),
        VolumeClaims(setting, storage),
        Volumes(setting, storage),
        VolumeProtection(setting, storage, pods),
        PodResourceClaims(setting, devices, pods),
        ResourceClaims(setting, devices, pods),
    ]
    return [*parts, VolumeProvisioning(setting, storage)] if options.has_provisioner else parts
