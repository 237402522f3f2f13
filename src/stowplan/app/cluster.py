"""A cluster to schedule on, in one object: what a notebook, a test or a script uses.

    cluster = Cluster.from_yaml("cluster.yaml")
    result = cluster.schedule(pod)      # Chosen(node_name=...) or Refused(message=..., verdict=...)
    print(cluster.explain(pod))         # every reason on every node, the scores, the nearest misses

It wires the same parts as the live scheduler: cache, profiles, extenders, memo and the choice. Nothing here talks to a
server but the extenders of the configuration, which are asked to filter and to score.
"""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from stowplan.app.given import as_gates, check_object, check_pod, read_yaml
from stowplan.app.nominated import NominatedPods
from stowplan.app.private_loop import PrivateLoop
from stowplan.app.settings import ConfigurationLike, as_configuration, installed_plugins
from stowplan.app.standalone import Standalone, Unmeasured
from stowplan.cache.cache import Cache, CachedPod
from stowplan.cache.objects import Groups, Objects
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates, rules_of
from stowplan.config.types import Configuration
from stowplan.engine import binding_cycle, scheduling_cycle
from stowplan.engine.background_tasks import ClusterChanges
from stowplan.engine.extenders import Extenders
from stowplan.engine.ports import ExtenderSaid, Note, Writer
from stowplan.engine.post_filter import Evictions
from stowplan.engine.results import Chosen, Failed, Refused, Result
from stowplan.engine.scheduling_cycle import ALL_NODES, Field, RandomTie, Sampler, TieRule, UpstreamOrder
from stowplan.extender.client import connect
from stowplan.framework import plugin_faults
from stowplan.framework.extender import Extender
from stowplan.framework.handle import Binder, Measures, ObjectWriter
from stowplan.framework.kept.memo import Memo
from stowplan.framework.plugin_faults import Stopwatch
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection
from stowplan.framework.waiting_pods import WaitingPods
from stowplan.model import decode
from stowplan.model.dra import ResourceClaim
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.pod_group import CommunityPodGroup, PodGroup
from stowplan.observe.explain import explain, feasible_nodes
from stowplan.observe.explanation import Explanation
from stowplan.observe.extender_reports import ask_extenders
from stowplan.plugins.dynamicresources.claim_tracker import ClaimTracker
from stowplan.queue.nominations import Nominations
from stowplan.table.nodes import Nodes
from stowplan.table.shape import PodShape

Ties = Literal["random", "upstream"]


@dataclass(frozen=True, slots=True)
class Gated:
    """The pod may not be tried yet; `rejection` says who holds it back."""

    pod: Pod
    rejection: Rejection

    @property
    def message(self) -> str:
        return ", ".join(self.rejection.reasons)

    @property
    def node_name(self) -> None:
        """There is none."""
        return None


@dataclass(frozen=True, slots=True)
class Built:
    """What a configuration comes to, not yet in use: nobody was asked or contacted."""

    profiles: Mapping[str, Profile]
    extenders: tuple[Extender, ...]


class Cluster:
    """Nodes, pods and the other objects of a cluster, and the profiles that schedule on it.

    `config` is a KubeSchedulerConfiguration: the path of a file, its text, a mapping, or one that was read before;
    `feature_gates` is a mapping, or text as `--feature-gates` takes it.
    """

    def __init__(
        self,
        config: ConfigurationLike = None,
        *,
        ties: Ties = "random",
        seed: int = 0,
        keep_answers: bool = True,
        feature_gates: FeatureGates | Mapping[str, bool] | str = DEFAULT_GATES,
    ) -> None:
        if ties not in get_args(Ties):
            raise ValueError(f"ties: Invalid value: {ties!r}: write one of: {', '.join(get_args(Ties))}")
        self.feature_gates = gates = as_gates(feature_gates)
        self.registry = installed_plugins()
        self.config = as_configuration(config, self.registry, gates)
        self.cache = Cache(rules_of(gates))
        self.nominations = Nominations()
        self._nominated = NominatedPods(self.nominations)
        #: Where a search for victims starts; drawn apart from ties, so that neither disturbs the other.
        self.draw: Callable[[int], int] = random.Random(seed).randrange
        self.waiting_pods = WaitingPods()
        self.evictions = Evictions(self.cache, self.waiting_pods)
        #: Measures the plugins of all profiles; runs when a scheduler is put together.
        self.stopwatch = Stopwatch()
        #: Told when changes were applied.
        self.cluster_changes = ClusterChanges()
        #: The resource claims on their way to the cluster.
        self.claims = ClaimTracker(self.cache.objects, self.cache.table.reads, gates)
        #: Where plugins count their own work.
        self.measures: Measures = Unmeasured()
        #: What plugins write to; without one, what they write is done here.
        self.writer: Writer | None = None
        #: Where bind plugins post to.
        self.binder: Binder = Standalone(self.cache)
        built = self.build(self.config)
        self.profiles: Mapping[str, Profile] = built.profiles
        self.extenders: tuple[Extender, ...] = built.extenders
        #: Told what extenders say against pods, and which of them fail.
        self.heard: Callable[[ExtenderSaid], None] = warn_if_ignored
        rule: TieRule = UpstreamOrder() if ties == "upstream" else RandomTie(random.Random(seed).randrange)
        self.field = Field(
            table=self.cache.table,
            memo=Memo(self.cache.table, is_on=keep_answers),
            nominations=self.nominations,
            ties=rule,
            sampler=Sampler(),
            percentage_of_nodes_to_score=self.config.percentage_of_nodes_to_score or ALL_NODES,
        )
        self._keeps_answers = keep_answers
        self._draw_for_extenders: Callable[[int], int] = random.Random(seed).randrange
        self._loop = PrivateLoop()

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

    @property
    def listers(self) -> Objects:
        """What plugins list (the scheduler's side of `framework.handle.Handle`)."""
        return self.cache.objects

    @property
    def pods(self) -> Cache:
        """Where plugins that preempt find the placed pods."""
        return self.cache

    @property
    def groups(self) -> Groups:
        """Where plugins that place gangs find the pod groups and their members."""
        return self.cache.groups

    def now_ns(self) -> int:
        """Return the time by the scheduler's clock; 0 as long as there is none."""
        return self.stopwatch.now_ns()

    def recount(self, pod: Pod) -> None:
        """Count a pod that was just given a node there by another version of it."""
        self.cache.update_assumed(pod)

    def monotonic_ns(self) -> int:
        """Return the time by which answers that may take too long are cut short, whatever clock events follow."""
        return time.monotonic_ns()

    def asks_before_preempting(self, pod: Pod) -> bool:
        """Say whether an extender has to agree before room is made for `pod`."""
        return any(extender.is_preemptor and extender.is_interested(pod) for extender in self.extenders)

    @property
    def writes(self) -> ObjectWriter:
        """Where plugins write what is no pod."""
        return self.writer.object_writer if self.writer is not None else Standalone(self.cache)

    @property
    def assumptions(self) -> Objects:
        """Where plugins say what they are about to make of objects."""
        return self.cache.objects

    def row_of(self, node_name: str) -> Nodes:
        """Return a node as filters are given it, or no row."""
        nodes = Nodes(self.cache.table)
        return nodes.take(np.flatnonzero(nodes.with_names(frozenset((node_name,)))))

    def is_placed(self, pod: Pod) -> bool:
        """Say whether a pod counts on a node."""
        return self.cache.placed(pod) is not None

    def announce(self, pod: Pod, reason: str, text: str) -> None:
        """Record an event about a pod that plugins prepare for; without somebody to write to, nobody reads it."""
        if self.writer is not None:
            self.writer.record(Note(pod, "Normal", reason, "Scheduling", text))

    # Objects

    def add(self, found: Any) -> None:
        """Take in an object, or a new version of one."""
        match found:
            case Node():
                self.cache.add_node(found)
            case Pod():
                self._add_pod(found)
            case decode.UnknownObject():
                return
            case PodGroup() | CommunityPodGroup():
                self.groups.put(found)
            case _:
                check_object(found)
                self.cache.objects.put(found)
                if isinstance(found, ResourceClaim):
                    self._nominated.ask_again(found.metadata.namespace, self.profiles)

    def add_all(self, objects: Iterable[Any]) -> None:
        for found in objects:
            self.add(found)

    def remove(self, found: Any) -> None:
        """Drop an object; nothing happens if it is not known."""
        match found:
            case Node():
                self.cache.remove_node(found.metadata.name)
            case Pod():
                self.cache.remove_pod(found)
                self.groups.remove_pod(found)
                self._nominated.remove(found)
            case PodGroup() | CommunityPodGroup():
                self.groups.remove(found)
            case _:
                self.cache.objects.remove(found.kind, found.metadata.namespace, found.metadata.name)

    def pods_on(self, node_name: str) -> list[Pod]:
        return [placed.pod for placed in self.cache.pods_on(node_name)]

    # Scheduling

    def schedule(self, pod: Pod) -> Result | Gated:
        """Choose a node for `pod`, count the pod there and reserve what it needs; a refusal changes nothing."""
        profile, shape = self.profile_of(pod), self.cache.table.shape_of(pod)
        result = self._choose(profile, pod, shape)
        if not isinstance(result, Chosen):
            return result
        node_name = result.node_name
        rejection = binding_cycle.place(self.cache, profile, pod, node_name, shape)
        if rejection is not None:
            binding_cycle.undo(self.cache, profile, pod, node_name)
            return Failed(pod, ", ".join(rejection.reasons), rejection.plugin)
        self.nominations.remove(pod)
        return result

    def choose(self, pod: Pod) -> Result | Gated:
        """Choose a node for `pod` without placing it."""
        return self._choose(self.profile_of(pod), pod, self.cache.table.shape_of(pod))

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
        """Say what every plugin and extender thinks of every node for `pod`, with scores and nearest misses."""
        profile, hearing = self.profile_of(pod), None
        if self.extenders:
            nodes = feasible_nodes(self.field, profile, pod)
            hearing = self._loop.run(ask_extenders(self.extenders, pod, nodes), self.extenders)
        return explain(self.field, profile, pod, hearing)

    def placed(self, pod: Pod) -> CachedPod | None:
        return self.cache.placed(pod)

    def profile_of(self, pod: Pod) -> Profile:
        """Return the profile that a pod asks for by its `schedulerName`."""
        check_pod(pod)
        profile = self.profiles.get(pod.spec.scheduler_name)
        if profile is None:
            known = ", ".join(sorted(self.profiles))
            raise KeyError(f"pod {pod.key!r}: no profile for schedulerName {pod.spec.scheduler_name!r}; known: {known}")
        return profile

    def _add_pod(self, pod: Pod) -> None:
        self.groups.put_pod(pod)
        if pod.is_terminal:
            self._nominated.remove(pod)
            self.cache.remove_pod(pod)
        elif pod.spec.node_name:
            self._nominated.remove(pod)
            self.cache.add_pod(pod)
        else:
            self._nominated.put(pod, self.profiles)

    # Profiles and extenders

    def build(self, config: Configuration) -> Built:
        """Make the profiles and extenders of a configuration, without using them yet."""
        return Built(self._build_profiles(config), connect(config.extenders))

    def _build_profiles(self, config: Configuration) -> Mapping[str, Profile]:
        built = (self.registry.profile(profile, self) for profile in config.profiles)
        profiles = [replace(profile, stopwatch=self.stopwatch) for profile in built]
        for profile in profiles:
            for plugin in profile.foreign:
                for name, read in plugin.columns.items():
                    self.cache.table.facts.declare(name, self._told_of(plugin.name, name, read))
        return {profile.name: profile for profile in profiles}

    def _told_of(self, plugin: str, column: str, read: Callable[[Node], Any]) -> Callable[[Node], Any]:
        """Have it told when a column of a plugin cannot be read off a node; it has no number there then."""

        @wraps(read)
        def number(node: Node) -> Any:
            try:
                return read(node)
            except plugin_faults.FAULTS as error:
                self.stopwatch.trace_column(error, plugin, column, node.name)
                raise

        return number

    def use(self, config: Configuration, built: Built) -> None:
        """Schedule with other profiles and extenders from now on; nothing that the old ones answered is kept."""
        self.config, self.profiles, self.extenders = config, built.profiles, built.extenders
        self.field = replace(
            self.field,
            memo=Memo(self.cache.table, is_on=self._keeps_answers),
            percentage_of_nodes_to_score=config.percentage_of_nodes_to_score or ALL_NODES,
        )

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


def warn_if_ignored(said: ExtenderSaid) -> None:
    """Warn of an extender that failed and was done without; other failures are in the result."""
    if said.is_ignored:
        warnings.warn(f"pod {said.pod.key!r}: extender ignored in {said.verb}: {said.text}", stacklevel=2)


__all__ = ["Chosen", "Cluster", "Failed", "Gated", "Refused"]
