"""Starts the rest of a cluster: every controller, the kubelet and the heartbeats, each in tasks of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

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
from stowplan.embedded.controllers.podgroup_protection import PodGroupProtectionController
from stowplan.embedded.controllers.replicaset import ReplicaSetController
from stowplan.embedded.controllers.resourceclaim import ResourceClaimController
from stowplan.embedded.controllers.resourceclaim_templates import (
    PodGroupResourceClaimController,
    PodResourceClaimController,
)
from stowplan.embedded.controllers.statefulset import StatefulSetController
from stowplan.embedded.controllers.tainteviction import TaintEvictionController
from stowplan.embedded.controllers.volume_protection import VolumeProtectionController
from stowplan.embedded.controllers.volume_provisioning import ProvisioningController
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.informer import SharedInformer
from stowplan.embedded.informers.pod_groups import has_claims
from stowplan.embedded.kubelet.heartbeats import Heartbeats
from stowplan.embedded.kubelet.kubelet import Kubelet, KubeletTiming
from stowplan.embedded.registry.api import Api
from stowplan.embedded.registry.precedence import Precedence


@dataclass(frozen=True, slots=True)
class ControllerOptions:
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


Runnable = Controller | EventTTLController


def start_all(api: Api, options: ControllerOptions) -> list[asyncio.Task[None]]:
    """Make what a new cluster has, and start everybody; cancel the tasks to stop them."""
    bootstrap.ensure(api)
    context = ControllerContext(api, options.now)
    informers: list[SharedInformer[Any]] = [context.nodes, context.pods]
    runnables: list[Runnable] = []
    if options.has_controllers:
        informers += [*context.volumes.informers, context.resource_claims, context.claiming_pods]
        informers += context.groups.informers if context.groups is not None else ()
        runnables += _controllers(context, options)
    if options.has_kubelets:
        runnables += [] if options.is_still else [Kubelet(context, options.timing)]
        runnables.append(Heartbeats(context, options.heartbeat_seconds))
    # Everybody listens by now: what is there already is told once to all.
    context.nodes.catch_up()
    context.pods.catch_up()
    return _start([informer.run() for informer in informers], runnables, options)


def announce(api: Api, options: ControllerOptions, host: str, port: int) -> list[asyncio.Task[None]]:
    """Let the cluster know where its API is; cancel the tasks to stop."""
    return _start([], [KubernetesServiceController(ControllerContext(api, options.now), host, port)], options)


def _start(
    works: list[Coroutine[Any, Any, None]], runnables: list[Runnable], options: ControllerOptions
) -> list[asyncio.Task[None]]:
    for runnable in runnables:
        works += runnable.work()
    precedence = options.precedence
    return [asyncio.create_task(work if precedence is None else precedence.behind(work)) for work in works]


def _controllers(context: ControllerContext, options: ControllerOptions) -> list[Runnable]:
    """Make every controller; none has begun to work."""
    replica_sets = ReplicaSetController(context, "apps/v1", "ReplicaSet")
    jobs = JobController(context)
    at_once: list[Runnable] = [
        ServiceAccountController(context),
        NodeLifecycleController(context),
        replica_sets,
        ReplicaSetController(context, "v1", "ReplicationController"),
        DeploymentController(context, replica_sets.informer),
        StatefulSetController(context),
        DaemonSetController(context),
        jobs,
        EphemeralVolumeController(context),
        PersistentVolumeClaimController(context),
        PersistentVolumeController(context),
        VolumeProtectionController(context),
        PodResourceClaimController(context),
        ResourceClaimController(context),
    ]
    groups = context.groups
    if groups is not None and has_claims(context.api):
        at_once.append(PodGroupResourceClaimController(context, groups))
    if options.has_provisioner:
        at_once.append(ProvisioningController(context))
    if options.is_still:
        return at_once
    return [
        NamespaceController(context),
        RootCertificatePublisher(context, options.authority),
        GarbageCollector(context),
        TaintEvictionController(context),
        PodGCController(context, options.gone_node_seconds),
        OrphanPodController(context, jobs.informer),
        CronJobController(context, jobs.informer),
        DisruptionController(context),
        EventTTLController(context),
        *([PodGroupProtectionController(context, groups)] if groups is not None else []),
        *at_once,
    ]
