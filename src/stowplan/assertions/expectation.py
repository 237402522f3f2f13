"""The words of an assertion: what has to hold of a cluster, as it is or after something is supposed.

    expect(cluster).after(lose_zone("eu-1a"), add_nodes(like="big-1", count=2)).all_placed("shop/*")

Each word asks at once, changes nothing, and returns the expectation, so that another can follow. If it does not hold,
an AssertionError tells of every pod concerned, with its reasons and the nearest misses. What cannot be asked (a node or
a zone that is not there, a file that cannot be read) is a `QuestionError`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stowplan.app.cluster import Cluster
from stowplan.assertions import failure_text, steps
from stowplan.assertions.failure_text import Broken
from stowplan.assertions.letting_on import lets_on
from stowplan.assertions.settling import SettledCluster, settled
from stowplan.assertions.steps import LabelledNodes, SupposedStep, check_pattern
from stowplan.assertions.workloads import WorkloadPods
from stowplan.model.pod import Pod
from stowplan.observe.explanation import some
from stowplan.table.shape import names_of_claims
from stowplan.whatif.changes import WantedNodes
from stowplan.whatif.drain import drain
from stowplan.whatif.fits import fits
from stowplan.whatif.tables import counted
from stowplan.whatif.world import QuestionError

#: pytest then shows the line of the test.
__tracebackhide__ = True


def expect(cluster: Cluster) -> Expectation:
    """Begin an assertion about a cluster; it is left as it is."""
    if not isinstance(cluster, Cluster):
        problem = f"expected a stowplan.Cluster, got {type(cluster).__name__}"
        raise TypeError(f"{problem}; Cluster.from_yaml reads one, SnapshotCluster.read reads a snapshot")
    return Expectation(cluster, WorkloadPods(cluster, getattr(cluster, "admitting", None)))


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is expected of a cluster after some steps."""

    cluster: Cluster = field(repr=False)
    workloads: WorkloadPods = field(repr=False)
    steps: tuple[SupposedStep, ...] = ()

    def after(self, *supposed: SupposedStep) -> Expectation:
        """Suppose steps first, in this order, after those that are supposed already."""
        for one in supposed:
            if not isinstance(one, SupposedStep):
                raise TypeError(f"after: expected steps such as lose_zone('eu-1a'), got {type(one).__name__}")
        return replace(self, steps=(*self.steps, *supposed))

    def all_placed(self, pods: str = "*/*") -> Expectation:
        """Assert that all pods of a pattern have a node once everybody who waits has had a turn."""
        return self._check(AllPlaced(check_pattern(pods)))

    def never_on(self, nodes: LabelledNodes, *, pods: str = "*/*") -> Expectation:
        """Assert that no pod of a pattern is on such nodes, nor would be let on them if only there was room."""
        return self._check(NeverOn(_labelled(nodes, "never_on"), check_pattern(pods)))

    def not_on(self, nodes: LabelledNodes, *, pods: str = "*/*") -> Expectation:
        """Assert that no pod of a pattern is on such nodes, by whatever luck."""
        return self._check(NeverOn(_labelled(nodes, "not_on"), check_pattern(pods), is_by_rule=False))

    def fits(self, file: str | Path, *, replicas: int | None = None) -> Expectation:
        """Assert that the pods of a file all find a node, evicting nobody."""
        return self._check(files_fit(file, replicas))

    def survives_drain(self, *names: str, selector: str = "", zone: str = "", batches: int = 1) -> Expectation:
        """Assert that nodes can be drained: everybody finds another node, and no disruption budget is in the way."""
        return self._check(SurvivesDrain(steps.wanted(names, selector, zone), steps.whole(batches, "batches")))

    def _check(self, claim: Claim) -> Expectation:
        try:
            with settled(self.cluster, self.steps, self.workloads) as found:
                broken = claim.look(found)
        except QuestionError as error:
            # Where it was found says nothing to whoever asked.
            raise QuestionError(str(error)) from None
        if broken is not None:
            raise AssertionError(str(broken))
        return self


class Claim:
    """Something that holds of a settled cluster, or not."""

    def look(self, found: SettledCluster) -> Broken | None:
        """Return what is wrong; None if it holds. What is done to the cluster is taken back."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class AllPlaced(Claim):
    pods: str

    def look(self, found: SettledCluster) -> Broken | None:
        keys = [pod.key for pod, _ in found.placed()]
        count = sum(steps.matches(self.pods, key) for key in (*keys, *found.unplaced))
        if not count:
            return failure_text.broken(found, steps.no_such_pod(self.pods, found.supposed))
        missing = [one for key, one in sorted(found.unplaced.items()) if steps.matches(self.pods, key)]
        if not missing:
            return None
        verb = "has" if len(missing) == 1 else "have"
        head = f"{len(missing)} of {counted(count, 'pod')} of {self.pods} {verb} no node"
        return failure_text.broken(found, head, failure_text.of_unplaced(found, missing))


@dataclass(frozen=True, slots=True)
class NeverOn(Claim):
    nodes: LabelledNodes
    pods: str
    #: Whether it has to be ruled out, rather than just not be so.
    is_by_rule: bool = True

    def look(self, found: SettledCluster) -> Broken | None:
        there = {node.name for node in self.nodes.find(found.world)}
        pods = [(pod, node) for pod, node in found.placed() if steps.matches(self.pods, pod.key)]
        waiting = [(one.pod, "") for key, one in found.unplaced.items() if steps.matches(self.pods, key)]
        if not pods and not waiting:
            return failure_text.broken(found, steps.no_such_pod(self.pods, found.supposed))
        on = {pod.key: f"is on {node}{_moved(found, pod.key)}" for pod, node in pods if node in there}
        whys = dict(on)
        if self.is_by_rule:
            whys |= self._let_on(found, [pod for pod, _ in (*pods, *waiting) if pod.key not in on], there)
        if not whys:
            return None
        word = "may be" if self.is_by_rule else "is" if len(whys) == 1 else "are"
        head = f"{len(whys)} of {counted(len(pods) + len(waiting), 'pod')} of {self.pods} {word} on nodes with"
        told = [(pod, whys[pod.key]) for pod, _ in (*pods, *waiting) if pod.key in whys]
        return failure_text.broken(found, f"{head} {self.nodes.text}", failure_text.of_pods(told))

    def _let_on(self, found: SettledCluster, pods: Sequence[Pod], there: Collection[str]) -> dict[str, str]:
        """Return what lets pods on the nodes, by pod."""
        # No plugin can tell pods of one signature apart, but by their volumes.
        whys: dict[object, str] = {}
        let_on = {}
        for pod in pods:
            alike = (found.world.cache.table.shape_of(pod).key, names_of_claims(pod))
            if alike not in whys:
                whys[alike] = lets_on(found, pod, there)
            if whys[alike]:
                let_on[pod.key] = whys[alike]
        return let_on


def _moved(found: SettledCluster, key: str) -> str:
    return ", where it went" if key in found.moved else ""


@dataclass(frozen=True, slots=True)
class FilesFit(Claim):
    file: str
    replicas: int | None = None

    def look(self, found: SettledCluster) -> Broken | None:
        with found.supposed.cluster.suppose() as cluster:
            inner = found.within(cluster)
            pods = found.supposed.workloads.suppose(inner.world, self.file, self.replicas)
            answer = fits(inner.world, pods, top=1)
            if answer.fits:
                return None
            head = f"{answer.placed} of {counted(len(answer.pods), 'pod')} of {self.file} fit"
            told = failure_text.of_fits(inner, answer, {pod.key: pod for pod in pods})
            return failure_text.broken(found, head, told)


def files_fit(file: str | Path, replicas: int | None) -> FilesFit:
    return FilesFit(steps.path_of(file), None if replicas is None else steps.whole(replicas, "replicas"))


@dataclass(frozen=True, slots=True)
class SurvivesDrain(Claim):
    nodes: WantedNodes
    batches: int = 1

    def look(self, found: SettledCluster) -> Broken | None:
        nodes = steps.find(self.nodes, found.world)
        with found.supposed.cluster.suppose() as cluster:
            inner = found.within(cluster)
            there = {one.pod.key: one.pod for node in nodes for one in inner.world.cache.pods_on(node.name)}
            answer = drain(inner.world, nodes, self.batches)
            if answer.can_be_drained:
                return None
            names = some([node.name for node in nodes], failure_text.MOST_NAMES)
            what = f"{counted(len(nodes), 'node')} ({names}) cannot be drained without harm"
            return failure_text.broken(found, what, failure_text.of_drain(inner, answer, there))


def _labelled(nodes: object, word: str) -> LabelledNodes:
    if not isinstance(nodes, LabelledNodes):
        raise QuestionError(f"{word}: expected nodes by their labels, such as label('spot'), got {nodes!r}")
    return nodes
