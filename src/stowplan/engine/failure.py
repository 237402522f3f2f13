"""What an attempt ends in: a node, a refusal, a failure. A pod that found no node, or lost it, goes back to the queue.

A condition and an event say why, in upstream's words: a refusal is `Unschedulable`, anything else a `SchedulerError`. A
pod that was refused up to Permit waits for an event that the plugins which refused it await; one that failed later, or
for another reason, only waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import msgspec

from stowplan.engine.background_tasks import BackgroundTasks
from stowplan.engine.ports import Dropped, Environment, GivenBack, Note
from stowplan.framework import html_text
from stowplan.framework.contract import Preemption
from stowplan.framework.post_filter import PostFiltered
from stowplan.framework.verdict import Code, Rejection, Verdict, counted, fit_error
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod
from stowplan.queue.entry import Place, QueuedPod
from stowplan.queue.queue import SchedulingQueue

NO_NODES = "no nodes available to schedule pods"
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
MAX_NOTE = 1024


class Chosen(msgspec.Struct, frozen=True):
    """A node was found. `total` is None where scores played no part: one feasible node, or a nominated one."""

    pod: Pod
    node_name: str
    row: int
    feasible_count: int
    total: int | None = None
    #: Who was evicted for it, in the order of eviction; of pods placed together, the first one has them.
    victims: tuple[Pod, ...] = ()
    #: How many of the evictions violate a disruption budget.
    pdb_violations: int = 0

    def __repr__(self) -> str:
        gone = f", victims={[victim.key for victim in self.victims]}" if self.victims else ""
        return f"Chosen(pod={self.pod.key!r}, node_name={self.node_name!r}, total={self.total}{gone})"

    def _repr_html_(self) -> str:
        known = {"feasible nodes": self.feasible_count or None, "score": self.total}
        told = ", ".join(f"{name}: {value}" for name, value in known.items() if value is not None)
        gone = f", in the place of {', '.join(victim.key for victim in self.victims)}" if self.victims else ""
        return html_text.line(f"Pod {self.pod.key} goes to {self.node_name}{f' ({told})' if told else ''}{gone}")


class Refused(msgspec.Struct, frozen=True):
    """No node will do. `message` is upstream's sentence; `verdict` has every node's first reason."""

    pod: Pod
    message: str
    verdict: Verdict
    #: What preemption would do for it, where nobody was to be evicted yet.
    preemption: Preemption | None = None
    #: Who was evicted for it all the same.
    victims: tuple[Pod, ...] = ()

    @property
    def node_name(self) -> None:
        """There is none; asked for by those who only want to know where the pod goes."""
        return None

    def __repr__(self) -> str:
        return f"Refused(pod={self.pod.key!r}, message={self.message!r})"

    def _repr_html_(self) -> str:
        # A pod that only its group keeps from going may have nodes that would do.
        by_node = "" if self.verdict.feasible.any() else self.verdict._repr_html_()
        return html_text.line(f"Pod {self.pod.key} is refused: {self.message}") + by_node


class Failed(msgspec.Struct, frozen=True):
    """The attempt could not be made or finished: no nodes at all, or a plugin that failed."""

    pod: Pod
    message: str
    plugin: str = ""
    #: Who was evicted for the pod before that.
    victims: tuple[Pod, ...] = ()

    @property
    def node_name(self) -> None:
        """There is none."""
        return None

    def __repr__(self) -> str:
        return f"Failed(pod={self.pod.key!r}, message={self.message!r}, plugin={self.plugin!r})"

    def _repr_html_(self) -> str:
        by = f" (plugin {self.plugin})" if self.plugin else ""
        return html_text.line(f"Pod {self.pod.key} could not be decided{by}: {self.message}")


Result = Chosen | Refused | Failed


class Failure(msgspec.Struct, frozen=True):
    """Why a pod goes back: the sentence, who refused it, and what becomes of its nominated node."""

    message: str
    #: Plugins that refused it; none if the attempt failed for another reason.
    plugins: Collection[str] = ()
    #: Plugins that only wait for something outside.
    pending: Collection[str] = ()
    #: None leaves the nominated node as it is, "" takes it back.
    nominated_node_name: str | None = None
    #: The reason of the condition; if none is given, it follows from whether anybody refused the pod.
    reason: str = ""

    @property
    def is_refusal(self) -> bool:
        return bool(self.plugins or self.pending)


def of_error(message: str) -> Failure:
    """Return the failure of an attempt in which something went wrong."""
    return Failure(message, nominated_node_name="")


def of_failed(failed: Failed) -> Failure:
    """Return the failure of an attempt that could not be made; that there are no nodes is no fault of ours."""
    reason = UNSCHEDULABLE if failed.message == NO_NODES else SCHEDULER_ERROR
    return Failure(failed.message, nominated_node_name="", reason=reason)


def of_refused(refused: Refused, made: PostFiltered) -> Failure:
    """Return the failure of a pod that no node can take, with what came of making room for it."""
    nominated: str | None = None
    if made.nominated is not None:
        nominated = made.nominated.node_name
    elif made.withdraws or made.rejection is None:
        nominated = ""
    message = f"{refused.message} {made.message}" if made.message else refused.message
    return Failure(message, *rejectors(refused.verdict), nominated, UNSCHEDULABLE)


def rejectors(verdict: Verdict) -> tuple[frozenset[str], frozenset[str]]:
    """Return the plugins that refused a pod, and those that only wait for something outside."""
    pending = frozenset(one.plugin for one in verdict.said() if one.code is Code.PENDING)
    return verdict.unschedulable_plugins() - pending, pending


def of_rejection(rejection: Rejection) -> Failure:
    """Return the failure of a pod whose node fell through in Reserve or Permit: one node, one refusal."""
    if rejection.code is Code.ERROR:
        return of_error(", ".join(rejection.reasons))
    message = fit_error(1, counted(Counter(rejection.reasons)))
    by = (rejection.plugin,)
    plugins, pending = ((), by) if rejection.code is Code.PENDING else (by, ())
    return Failure(message, plugins, pending, "")


def after_permit(rejection: Rejection) -> Failure:
    """Return the failure of a pod in PreBind or Bind; nobody kept events for it any more, so it waits for none."""
    reason = SCHEDULER_ERROR if rejection.code is Code.ERROR else UNSCHEDULABLE
    return Failure(", ".join(rejection.reasons), nominated_node_name="", reason=reason)


def of_resize(permitted: Rejection | object) -> Failure:
    """Return why a pod goes back that has room to grow on its node: Permit says what it waits for."""
    return of_rejection(permitted) if isinstance(permitted, Rejection) else of_error("it has its node")


def drop(queue: SchedulingQueue, environment: Environment, pod: Pod, *, has_profile: bool) -> None:
    """Let a pod go that need not be scheduled any more, and say why."""
    if not has_profile:
        why = f"no profile for schedulerName {pod.spec.scheduler_name!r}"
    elif pod.is_terminating:
        why = "it is being deleted"
        text = f"skip schedule deleting pod: {pod.key}"
        environment.writer.record(Note(pod, "Warning", "FailedScheduling", "Scheduling", text))
    else:
        why = "it is placed already"
    queue.done(pod)
    queue.nominations.hollow(pod)
    environment.tell(Dropped(pod, why))


def give_back(
    queue: SchedulingQueue, environment: Environment, tasks: BackgroundTasks, entry: QueuedPod, failure: Failure
) -> None:
    """Put a pod back into the queue at once, and tell the cluster why beside the loop."""
    nominated = failure.nominated_node_name
    queue.give_back(entry, environment.now_ns(), failure.plugins, failure.pending)
    if entry.where is Place.GONE:
        environment.tell(Dropped(entry.pod, "it is gone"))
        return
    pod = entry.pod
    # One that runs already, and only waits to grow, keeps its node; neither its status nor its user is told.
    is_resize = bool(pod.spec.node_name)
    if nominated is not None and not is_resize:
        # Counts at once; the cluster hears of it when it has time.
        entry.pod = nominated_to(pod, nominated)
        queue.nominate(entry.pod, nominated, environment.now_ns())
    refused_by = frozenset((*failure.plugins, *failure.pending))
    condition = _condition(pod, failure)
    is_error = condition.reason == SCHEDULER_ERROR
    taken_at_ns, attempts = entry.taken_at_ns, entry.attempts
    environment.tell(GivenBack(pod, failure.message, refused_by, nominated or "", is_error, taken_at_ns, attempts))
    if is_resize:
        return
    environment.writer.record(Note(pod, "Warning", "FailedScheduling", "Scheduling", _shortened(failure.message)))
    tasks.write_status(pod, condition, nominated)


def nominated_to(pod: Pod, node_name: str) -> Pod:
    """Return a pod with the node that is to take it written to its status."""
    status = msgspec.structs.replace(pod.status, nominated_node_name=node_name)
    return msgspec.structs.replace(pod, status=status)


def _condition(pod: Pod, failure: Failure) -> Condition:
    return Condition(
        type="PodScheduled",
        status="False",
        reason=failure.reason or (UNSCHEDULABLE if failure.is_refusal else SCHEDULER_ERROR),
        message=failure.message,
        observed_generation=pod.metadata.generation,
    )


def _shortened(text: str) -> str:
    """Cut a text to what an event holds; an API server counts bytes."""
    content = text.encode()
    return text if len(content) <= MAX_NOTE else f"{content[: MAX_NOTE - 4].decode(errors='ignore')} ..."
