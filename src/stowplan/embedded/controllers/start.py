"""Starts the rest of a cluster: every controller, the kubelet and the heartbeats, each in tasks of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from stowplan.embedded.controllers import bootstrap
from stowplan.embedded.controllers.bootstrap import (
    NO_AUTHORITY,
    KubernetesServiceController,
    RootCertificatePublisher,
    ServiceAccountController,
)
from stowplan.embedded.controllers.cronjob import CronJobController
from stowplan.embedded.controllers.daemon import DaemonSetController
from stowplan.embedded.controllers.deployment import DeploymentController
from stowplan.embedded.controllers.disruption import DisruptionController
from stowplan.embedded.controllers.ephemeral_volume import EphemeralVolumeController
from stowplan.embedded.controllers.event_ttl import EventTTLController
from stowplan.embedded.controllers.garbagecollector import GarbageCollector
from stowplan.embedded.controllers.job import JobController
from stowplan.embedded.controllers.job_tracking import OrphanPodController
from stowplan.embedded.controllers.namespace import NamespaceController
from stowplan.embedded.controllers.nodelifecycle import NodeLifecycleController
from stowplan.embedded.controllers.persistentvolume import PersistentVolumeClaimController, PersistentVolumeController
from stowplan.embedded.controllers.podgc import PodGCController
from stowplan.embedded.controllers.replicaset import ReplicaSetController
from stowplan.embedded.controllers.resourceclaim import PodResourceClaimController, ResourceClaimController
from stowplan.embedded.controllers.statefulset import StatefulSetController
from stowplan.embedded.controllers.tainteviction import TaintEvictionController
from stowplan.embedded.controllers.volume_protection import VolumeProtectionController
from stowplan.embedded.controllers.volume_provisioning import ProvisioningController
from stowplan.embedded.informers import resources
from stowplan.embedded.informers.claiming_pods import ClaimingPodInformer
from stowplan.embedded.informers.controller import ControllerContext
from stowplan.embedded.informers.nodes import NodeInformer
from stowplan.embedded.informers.pods import PodInformer
from stowplan.embedded.informers.resource_claims import ResourceClaimInformer
from stowplan.embedded.informers.volumes import VolumeInformers
from stowplan.embedded.kubelet.heartbeats import Heartbeats
from stowplan.embedded.kubelet.kubelet import Kubelet, KubeletTiming
from stowplan.embedded.registry.api import Api
from stowplan.embedded.registry.precedence import Precedence


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What the rest of a cluster may be told."""

    now: Callable[[], datetime]
    timing: KubeletTiming = field(default_factory=KubeletTiming)
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


class Runnable(Protocol):
    """Something that works for ever."""

    def work(self) -> list[Coroutine[Any, Any, None]]: ...


def start_all(api: Api, options: ClusterOptions) -> list[asyncio.Task[None]]:
    """Make what a new cluster has, and start everybody; cancel the tasks to stop them."""
    bootstrap.ensure(api)
    setting = ControllerContext(api, PodInformer(api), NodeInformer(api), options.now)
    parts = parts_of(setting, options)
    # Everybody listens by now: what is there already is told once to all.
    setting.nodes.follower.catch_up()
    setting.pods.follower.catch_up()
    return _begin([setting.nodes.follower.run(), setting.pods.follower.run()], parts, options)


def announce(api: Api, options: ClusterOptions, host: str, port: int) -> list[asyncio.Task[None]]:
    """Let the cluster know where its API is; cancel the tasks to stop."""
    setting = ControllerContext(api, PodInformer(api), NodeInformer(api), options.now)
    return _begin([], [KubernetesServiceController(setting, host, port)], options)


def _begin(
    works: list[Coroutine[Any, Any, None]], parts: list[Runnable], options: ClusterOptions
) -> list[asyncio.Task[None]]:
    for part in parts:
        works += part.work()
    precedence = options.precedence
    return [asyncio.create_task(work if precedence is None else precedence.behind(work)) for work in works]


def parts_of(setting: ControllerContext, options: ClusterOptions) -> list[Runnable]:
    """Make every part; none has begun to work."""
    parts = controllers_of(setting, options) if options.has_controllers else []
    if options.has_kubelets and not options.is_still:
        parts.append(Kubelet(setting, options.timing))
    if options.has_kubelets:
        parts.append(Heartbeats(setting, options.heartbeat_seconds))
    return parts


def controllers_of(setting: ControllerContext, options: ClusterOptions) -> list[Runnable]:
    """Make every controller."""
    replica_sets = ReplicaSetController(setting, resources.apps(setting.api, "ReplicaSet"))
    jobs = JobController(setting)
    parts: list[Runnable] = [
        ServiceAccountController(setting),
        NodeLifecycleController(setting),
        replica_sets,
        ReplicaSetController(setting, resources.find(setting.api, "v1", "ReplicationController")),
        DeploymentController(setting, replica_sets.follower),
        StatefulSetController(setting),
        DaemonSetController(setting),
        jobs,
        *claim_controllers_of(setting, options),
    ]
    if options.is_still:
        return parts
    return [
        NamespaceController(setting),
        RootCertificatePublisher(setting, options.authority),
        GarbageCollector(setting),
        TaintEvictionController(setting),
        PodGCController(setting, options.gone_node_seconds),
        OrphanPodController(setting, jobs.follower),
        CronJobController(setting, jobs.follower),
        DisruptionController(setting),
        EventTTLController(setting),
        *parts,
    ]


def claim_controllers_of(setting: ControllerContext, options: ClusterOptions) -> list[Runnable]:
    """Make what looks after claims, for volumes and for devices, and after what they are given."""
    storage, devices, pods = (
        VolumeInformers(setting.api),
        ResourceClaimInformer(setting.api),
        ClaimingPodInformer(setting.api),
    )
    parts: list[Runnable] = [
        storage,
        devices,
        pods,
        EphemeralVolumeController(setting, storage, pods),
        PersistentVolumeClaimController(setting, storage),
        PersistentVolumeController(setting, storage),
        VolumeProtectionController(setting, storage, pods),
        PodResourceClaimController(setting, devices, pods),
        ResourceClaimController(setting, devices, pods),
    ]
    return [*parts, ProvisioningController(setting, storage)] if options.has_provisioner else parts
