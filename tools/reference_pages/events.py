"""docs/events.md: the events and conditions that the scheduler writes.

What each says is told here; that none is missing, a test finds out from the code that writes them
(`tests/architecture/test_reference_pages.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tools.reference_pages.markdown import table

_HEAD: Final = """\
# Events and conditions

What `stowplan run` writes about pods, and when. Reasons, types and texts are kube-scheduler's. The page is made by
`make docs-generated`. What controllers and the kubelets of [an embedded cluster](embedded.md) write beside it is not
here.

"""
_EVENTS: Final = """\
## Events

Of `events.k8s.io/v1`, but for the one about the lease, which is of the old kind (`v1`), as client-go writes it. They
are written beside scheduling, and nothing waits for them. The same text again becomes a series of the first one;
while many pods are being bound, events wait, and what is beyond 10,000 that wait is dropped. A text that is too long
for an event is cut, with ` ...` at its end; the condition has all of it. `reportingController` is the name of the
profile.

"""
_CONDITIONS: Final = """\
## Conditions

They say what the latest attempt came to, and are written only if they change.

"""
_AFTER: Final = """\
A pod that a PreEnqueue plugin holds back gets neither event nor condition of the scheduler; the API server itself
sets the condition `PodScheduled` with the reason `SchedulingGated` if the pod has scheduling gates. `PodScheduled`
becomes `True` with the binding, by the API server. A pod that a node was found for by preemption has that node in
`status.nominatedNodeName`.

To ask for more than there is room for in a message: `stowplan explain pod NAMESPACE/NAME`
([asking why](embedded.md#asking-why)).
"""


@dataclass(frozen=True)
class EventKind:
    """An event that the scheduler writes."""

    reason: str
    type: str
    action: str
    about: str
    when: str
    message: str


@dataclass(frozen=True)
class ConditionKind:
    """A condition that the scheduler writes."""

    type: str
    status: str
    reason: str
    about: str
    when: str
    message: str


EVENTS: Final = (
    EventKind(
        "Scheduled", "Normal", "Binding", "the pod", "it is bound", "Successfully assigned NAMESPACE/POD to NODE"
    ),
    EventKind(
        "FailedScheduling",
        "Warning",
        "Scheduling",
        "the pod",
        "an attempt came to nothing: no node will do, a plugin refused later on, something went wrong, or the pod is"
        " being deleted",
        "0/N nodes are available: COUNT REASON, ... . preemption: ...; or the error; or"
        " skip schedule deleting pod: NAMESPACE/POD",
    ),
    EventKind(
        "Preempted",
        "Normal",
        "Preempting",
        "the victim; the pod or group it makes room for is `related`",
        "it is evicted so that a more important pod fits",
        "Preempted by pod UID on node NODE; by podgroup UID if a group needs the room;"
        " (in kube-scheduler memory). at the end if it was not bound yet",
    ),
    EventKind(
        "BindingConditionsPending",
        "Normal",
        "Scheduling",
        "the pod",
        "its devices have to become ready first",
        "waiting for binding conditions for device on node NODE",
    ),
    EventKind(
        "LeaderElection",
        "Normal",
        "-",
        "the lease",
        "a replica begins or ends to lead",
        "IDENTITY became leader; IDENTITY stopped leading",
    ),
)
CONDITIONS: Final = (
    ConditionKind(
        "PodScheduled",
        "False",
        "Unschedulable",
        "the pod",
        "plugins or extenders refused it",
        "as FailedScheduling, not cut",
    ),
    ConditionKind(
        "PodScheduled", "False", "SchedulerError", "the pod", "something went wrong in the attempt", "the error"
    ),
    ConditionKind(
        "DisruptionTarget",
        "True",
        "PreemptionByScheduler",
        "the victim",
        "just before it is deleted",
        "PROFILE: preempting to accommodate a higher priority pod; or podgroup",
    ),
    ConditionKind(
        "PodGroupInitiallyScheduled", "True", "Scheduled", "the pod group", "enough of its pods have nodes", "-"
    ),
    ConditionKind(
        "PodGroupInitiallyScheduled",
        "False",
        "Unschedulable",
        "the pod group",
        "an attempt found no room for it; a group that was scheduled once keeps `True`",
        "why, in the words of the plugins",
    ),
    ConditionKind(
        "PodGroupInitiallyScheduled", "False", "SchedulerError", "the pod group", "something went wrong", "the error"
    ),
)


def text() -> str:
    """Return the page."""
    events = [(f"`{one.reason}`", one.type, one.action, one.about, one.when, one.message) for one in EVENTS]
    conditions = [
        (f"`{one.type}`", one.status, f"`{one.reason}`", one.about, one.when, one.message) for one in CONDITIONS
    ]
    return "".join(
        (
            _HEAD,
            _EVENTS,
            table(("reason", "type", "action", "about", "when", "message"), events),
            "\n",
            _CONDITIONS,
            table(("type", "status", "reason", "of", "when", "message"), conditions),
            "\nOf Kubernetes 1.36, the condition of a group is called `PodGroupScheduled`.\n\n",
            _AFTER,
        )
    )
