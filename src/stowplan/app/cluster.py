"""A cluster to schedule on, in one object: what a notebook, a test or a script uses.

    cluster = Cluster.from_yaml("cluster.yaml")
    result = cluster.schedule(pod)      # Chosen(node_name=..., victims=...) or Refused(message=..., verdict=...)
    print(cluster.explain(pod))         # every reason on every node, the scores, the nearest misses

It wires the same parts as the live scheduler: cache, profiles, extenders, memo and the choice. `app/objects.py` takes
in what it is given, `app/plugin_handle.py` is what its plugins see, `app/preempting.py` evicts. Nothing here talks to a
server but the extenders of the configuration, which are asked to filter, to score and to preempt.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from stowplan.app import objects, schedule_all, supposition, workbench
from stowplan.app.configuration import ConfigurationLike, as_configuration, as_gates, installed_plugins
from stowplan.app.frames import Frame
from stowplan.app.objects import PendingPods, check_pod, read_yaml
from stowplan.app.placements import Gated, Placements
from stowplan.app.plugin_handle import PluginHandle, warn_if_ignored
from stowplan.app.pod_groups import GroupDesk, condition_of_groups, membership
from stowplan.app.pod_groups import root_of as group_root_of
from stowplan.app.preempting import PreemptionDesk
from stowplan.app.process import PrivateLoop
from stowplan.app.profiles import Built, build
from stowplan.app.supposition import SuppositionError, same_draws
from stowplan.cache.cache import Cache, CachedPod
from stowplan.config.feature_gates import FeatureGates, rules_of
from stowplan.config.types import Configuration
from stowplan.engine import binding_cycle, scheduling_cycle
from stowplan.engine.event_handlers import EventHandlers
from stowplan.engine.extenders import Extenders
from stowplan.engine.failure import Chosen, Failed, Refused, Result
from stowplan.engine.group_trial import at_once
from stowplan.engine.parts import ActivePolicy
from stowplan.engine.ports import ExtenderSaid
from stowplan.engine.scheduling_cycle import ALL_NODES, ChoiceInputs, RandomTie, Sampler, TieRule, UpstreamOrder
from stowplan.framework.extender import Extender
from stowplan.framework.gangs import Gang, gang_of
from stowplan.framework.kept.memo import Memo
from stowplan.framework.pod_groups import has_groups
from stowplan.framework.profile import Profile
from stowplan.framework.registry import Registry
from stowplan.framework.verdict import Code
from stowplan.model.pod import Pod
from stowplan.observe.explain import explain, feasible_nodes
from stowplan.observe.explanation import Explanation
from stowplan.observe.extender_reports import ask_extenders
from stowplan.observe.group_explanation import GroupExplanation
from stowplan.table.shape import PodShape

Ties = Literal["random", "upstream"]
T = TypeVar("T")


class Cluster:
    """Nodes, pods and the other objects of a cluster, and the profiles that schedule on it.

    `config` is a KubeSchedulerConfiguration: the path of a file, its text, a mapping, or one that was read before;
    `feature_gates` is a mapping, or text as `--feature-gates` takes it; `release` is that of the kube-scheduler to
    decide like, such as "1.36", and the newest one that is known if it is not given.
    """

    def __init__(
        self,
        config: ConfigurationLike = None,
        *,
        ties: Ties = "random",
        seed: int = 0,
        feature_gates: FeatureGates | Mapping[str, bool] | str | None = None,
        release: str | None = None,
    ) -> None:
        if ties not in get_args(Ties):
            raise ValueError(f"ties: Invalid value: {ties!r}: write one of: {', '.join(get_args(Ties))}")
        self.feature_gates = gates = as_gates(feature_gates, release)
        self.registry = installed_plugins()
        self.config = as_configuration(config, self.registry, gates)
        self.cache = Cache(rules_of(gates))
        self.handle = PluginHandle(self.cache, gates, random.Random(seed).randrange)
        built = self.build(self.config)
        self.profiles: Mapping[str, Profile] = built.profiles
        self.handle.extenders = built.extenders
        self.cache.table.facts.redeclare(built.columns)
        self._pending = PendingPods(self.handle.nominations, lambda: self.profiles)
        self._handlers = EventHandlers(self.cache, self._pending, self.profiles)
        #: Told what extenders say against pods, and which of them fail.
        self.heard: Callable[[ExtenderSaid], None] = warn_if_ignored
        rule: TieRule = UpstreamOrder() if ties == "upstream" else RandomTie(random.Random(seed).randrange)
        self.field = ChoiceInputs(
            table=self.cache.table,
            memo=Memo(self.cache.table),
            nominations=self.handle.nominations,
            ties=rule,
            sampler=Sampler(),
            percentage_of_nodes_to_score=self.config.percentage_of_nodes_to_score or ALL_NODES,
        )
        self._draw_for_extenders: Callable[[int], int] = random.Random(seed).randrange
        self._loop = PrivateLoop()
        #: Why it cannot be used: something else is supposed of it, or what was supposed has been taken back.
        self._closed = ""

    @classmethod
    def from_yaml(cls, *sources: str | Path, **options: Any) -> Cluster:
        """Build a cluster from YAML files (paths) or YAML text.

        Refused are a text without objects, a key that is there twice and a field of the wrong type; a kind that
        scheduling does not read is left out with a warning. Unlike `stowplan schedule` it asks no API server: fields
        that nobody knows are left out, values are not validated, and defaults that admission sets (a priority from its
        class) are not set.
        """
        cluster = cls(**options)
        for source in sources:
            cluster.add_all(read_yaml(source))
        return cluster

    # Suppositions

    @contextmanager
    def suppose(self) -> Iterator[Cluster]:
        """Suppose whatever is done to the cluster that is given; at the end, everything is as it was before.

            with cluster.suppose() as world:
                world.remove(node)
                results = [world.schedule(pod) for pod in pods]

        Nothing is copied, and nothing that is supposed is written or measured. Meanwhile this cluster cannot be used;
        the one that is given may itself suppose more, and cannot be used when it is over.
        """
        self._check_open()
        world = self._supposed()
        self._closed = "something is supposed of it; use what `suppose` gave, or wait until that is over"
        try:
            with supposition.taken_back(self.cache, self.handle, self.profiles.values()):
                yield world
        finally:
            self._closed = ""
            vars(world)["_closed"] = "what was supposed has been taken back; suppose it again"

    def _supposed(self) -> Cluster:
        """Return another cluster of the same parts, with its own draws, and answers that push none of ours out."""
        memo, pending = Memo(self.field.table, beneath=self.field.memo), self._pending.copied()
        world, handlers = self._drawing_alike(), EventHandlers(self.cache, pending, self.profiles)
        vars(world).update(_pending=pending, _handlers=handlers, field=replace(world.field, memo=memo))
        return world

    def _drawing_alike(self) -> Cluster:
        """Return this cluster with draws of its own that come to the same."""
        world, ties = copy.copy(self), self.field.ties.copied(same_draws)
        field = replace(self.field, ties=ties, sampler=copy.copy(self.field.sampler))
        vars(world).update(field=field, _draw_for_extenders=same_draws(self._draw_for_extenders))
        return world

    @property
    def not_taking_part(self) -> tuple[str, ...]:
        """The plugins and extenders of which not everything is supposed that they would do or know."""
        return supposition.not_taking_part(self.profiles.values(), self.config)

    def _check_open(self) -> None:
        if self._closed:
            raise SuppositionError(f"the cluster cannot be used: {self._closed}")

    # Objects

    def add(self, found: Any) -> None:
        """Take in an object, or a new version of one."""
        self._check_open()
        objects.add(self._handlers, self._pending, found)

    def add_all(self, objects: Iterable[Any]) -> None:
        for found in objects:
            self.add(found)

    def remove(self, found: Any) -> None:
        """Drop an object, and free the devices that a pod was given here; nothing happens if it is not known."""
        self._check_open()
        objects.remove(self._handlers, self._pending, found)
        if isinstance(found, Pod):
            self.handle.claims.give_up(found.uid)

    @property
    def pending(self) -> tuple[Pod, ...]:
        """The pods that were added without a node, and have none yet, in the order in which they came."""
        return tuple(pod for pod in self._pending.unplaced.values() if self.cache.placed(pod) is None)

    def pods_on(self, node_name: str) -> list[Pod]:
        return [placed.pod for placed in self.cache.pods_on(node_name)]

    # Scheduling

    def schedule(self, pod: Pod, *, preempt: bool = True) -> Result | Gated:
        """Choose a node for `pod`, count the pod there and reserve what it needs.

        If no node will do, less important pods are evicted for it as its profile says, and the result names them; with
        `preempt=False` nobody is. A pod of a pod group is placed only if the group is complete with it: see
        `schedule_group`.
        """
        profile = self.profile_of(pod)
        if pod.spec.scheduling_group is not None and has_groups(self.feature_gates):
            return self.schedule_group((pod,))[0]
        shape = self.cache.table.shape_of(pod)
        result = self._choose(profile, pod, shape)
        if preempt and isinstance(result, Refused):
            result = self.desk().place(result)
        if not isinstance(result, Chosen):
            return result
        node_name = result.node_name
        rejection = binding_cycle.place(self.cache, profile, pod, node_name, shape)
        if rejection is not None:
            binding_cycle.undo(self.cache, profile, pod, node_name)
            return Failed(pod, ", ".join(rejection.reasons), rejection.plugin, result.victims)
        self._pending.delete(pod, 0)
        return result

    def schedule_all(self, pods: Iterable[Pod]) -> Placements:
        """Schedule pending pods in the order of the queue, groups together; who was refused comes back as there."""
        return schedule_all.schedule_all(self, pods)

    def schedule_group(self, pods: Sequence[Pod], *, preempt: bool = True) -> list[Result | Gated]:
        """Place pending pods of one pod group together, as many as fit if that is enough for the group, or none.

        The group is one of Kubernetes' own, or, where a profile has the plugin Coscheduling, one of the community's;
        pods that only add to a gang which has enough preempt, if they are to, for a group as a whole nobody goes.
        """
        is_own = pods[0].spec.scheduling_group is not None and has_groups(self.feature_gates)
        gang = None if is_own else gang_of(self.profile_of(pods[0]), pods[0])
        if isinstance(gang, Gang):
            return self._schedule_gang(gang, pods, preempt)
        gates = [profile.run_pre_enqueue(pod) for pod in pods for profile in (self.profile_of(pod),)]
        shut, root = next(filter(None, gates), None), group_root_of(self.cache, pods[0])
        if shut is not None:
            return [Gated(pod, gate or shut) for pod, gate in zip(pods, gates, strict=True)]
        if root is None:
            raise LookupError(f"pod {pods[0].key!r}: its pod group is not known; add it first")
        return self._without_placed(self._run(self._groups().schedule(root, pods)))

    def _schedule_gang(self, gang: Gang, pods: Sequence[Pod], preempt: bool) -> list[Result | Gated]:
        """Place the pods of a gang of the community's; those that something else holds back are not tried."""
        desk = self._groups()
        if desk.has_enough(gang):
            return [self.schedule(pod, preempt=preempt) for pod in pods]
        gates = {pod.key: self.profile_of(pod).run_pre_enqueue(pod) for pod in pods}
        ready = [pod for pod in pods if gates[pod.key] is None]
        tried = self._without_placed(self._run(desk.schedule_gang(gang, ready))) if ready else []
        found = {one.pod.key: one for one in tried}
        return [
            found[pod.key] if gate is None else Gated(pod, gate) for pod, gate in zip(pods, gates.values(), strict=True)
        ]

    def _without_placed(self, results: Sequence[Result]) -> list[Result | Gated]:
        """Note that pods which have a node wait no more."""
        for one in results:
            if isinstance(one, Chosen):
                self._pending.delete(one.pod, 0)
        return [*results]

    def explain_group(self, pods: Sequence[Pod]) -> GroupExplanation:
        """Say where pending pods of one pod group could go together, what is missing, and whom they would evict."""
        for pod in pods:
            self.profile_of(pod)
        root = group_root_of(self.cache, pods[0])
        if root is None:
            raise LookupError(f"pod {pods[0].key!r}: its pod group is not known; add it first")
        return self._run(self._groups().explain(root, pods))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run what waits for nobody but extenders."""
        return self._loop.run(work, self.extenders) if self.extenders else at_once(work)

    def _groups(self) -> GroupDesk:
        policy = self.policy()
        policy.extenders = self.extenders_in_flow()
        return GroupDesk(self.cache, policy)

    def policy(self) -> ActivePolicy:
        """Return what decides about pods and groups here, for whoever drives it."""
        gates = self.feature_gates
        return ActivePolicy(
            self.profiles,
            self.field,
            has_placements=gates.enabled("TopologyAwareWorkloadScheduling"),
            draw=self.handle.draw,
            has_group_policies=gates.enabled("PodGroupPreemptionPolicy"),
            group_condition=condition_of_groups(gates),
        )

    def choose(self, pod: Pod, *, preempt: bool = True) -> Result | Gated:
        """Say which node `schedule` would choose next for `pod`; a refusal says whom it would evict, and where."""
        profile, shape = self.profile_of(pod), self.cache.table.shape_of(pod)
        result = Cluster._choose(self._drawing_alike(), profile, pod, shape)
        return self.desk().with_room(result) if preempt and isinstance(result, Refused) else result

    def desk(self) -> PreemptionDesk:
        extenders = self.extenders_in_flow()
        return PreemptionDesk(self._handlers, self._pending, self.handle, self.field, extenders, self._run)

    def _choose(self, profile: Profile, pod: Pod, shape: PodShape) -> Result | Gated:
        gate = profile.run_pre_enqueue(pod)
        if gate is not None:
            gated = Gated(pod, gate)
            # Nobody meant to keep it out.
            return Failed(pod, gated.message, gate.plugin) if gate.code is Code.ERROR else gated
        extenders = self.extenders_in_flow()
        if extenders is None:
            return scheduling_cycle.choose_at_once(self.field, profile, pod, shape)
        return self._loop.run(scheduling_cycle.choose(self.field, profile, pod, shape, extenders), self.extenders)

    def explain(self, pod: Pod) -> Explanation:
        """Say what plugins and extenders think of every node for `pod`, what would help, and who would go for it."""
        profile, hearing = self.profile_of(pod), None
        if self.extenders:
            nodes = feasible_nodes(self.field, profile, pod)
            hearing = self._loop.run(ask_extenders(self.extenders, pod, nodes), self.extenders)
        return replace(explain(self.field, profile, pod, hearing, self.desk().foresee), group=self.membership(pod))

    def membership(self, pod: Pod) -> str:
        """Say which group a pod is in, and how that stands; nothing if it is in none."""
        return membership(self.cache, self.feature_gates, self.profile_of(pod), pod)

    def placed(self, pod: Pod) -> CachedPod | None:
        return self.cache.placed(pod)

    def profile_of(self, pod: Pod) -> Profile:
        """Return the profile that a pod asks for by its `schedulerName`."""
        self._check_open()
        check_pod(pod)
        profile = self.profiles.get(pod.spec.scheduler_name)
        if profile is None:
            known = ", ".join(sorted(self.profiles))
            raise KeyError(f"pod {pod.key!r}: no profile for schedulerName {pod.spec.scheduler_name!r}; known: {known}")
        return profile

    # The workbench

    @property
    def _open_cache(self) -> Cache:
        self._check_open()
        return self.cache

    def nodes_frame(self) -> Frame:
        """Return the nodes as columns: what each has of every resource, what is requested, and what is free."""
        return workbench.nodes_frame(self._open_cache)

    def placements_frame(self) -> Frame:
        """Return the pods that have a node as columns."""
        return workbench.placements_frame(self._open_cache)

    def utilisation(self) -> dict[str, float]:
        """Return which share of what there is of each resource is requested."""
        return workbench.utilisation(self._open_cache)

    def fragmentation(self, pod: Pod | None = None) -> dict[str, float]:
        """Return which share of what is free of each resource is on nodes with too little of it left for `pod`."""
        return workbench.fragmentation(self._open_cache, pod)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({workbench.count_text(self.cache)})"

    def _repr_html_(self) -> str:
        return workbench.overview(self._open_cache)

    # Profiles and extenders

    def build(self, config: Configuration, registry: Registry | None = None) -> Built:
        """Make the profiles and extenders of a configuration, without using them yet; of other plugins, if given."""
        return build(config, registry or self.registry, self.handle)

    def use(self, config: Configuration, built: Built) -> None:
        """Schedule with other profiles and extenders from now on; nothing that the old ones answered is kept."""
        self.config, self.profiles, self.handle.extenders = config, built.profiles, built.extenders
        self._handlers.scheduler_names, self.registry = built.profiles, built.registry
        self.cache.table.facts.redeclare(built.columns)
        percentage = config.percentage_of_nodes_to_score or ALL_NODES
        self.field = replace(self.field, memo=Memo(self.cache.table), percentage_of_nodes_to_score=percentage)

    @property
    def extenders(self) -> tuple[Extender, ...]:
        return self.handle.extenders

    def extenders_in_flow(self) -> Extenders | None:
        """Return the extenders as the flow asks them; None if there are none, for then nothing is waited for."""
        if not self.extenders:
            return None
        known = self.cache.table.row_of
        return Extenders(
            self.extenders,
            pods_on=lambda name: self.pods_on(name) if name in known else None,
            tell=lambda said: self.heard(said),
            draw=self._draw_for_extenders,
        )


__all__ = ["Chosen", "Cluster", "Explanation", "Failed", "Frame", "Gated", "Placements", "Refused"]
