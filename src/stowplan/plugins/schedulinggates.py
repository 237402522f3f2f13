"""Keeps a pod out of the queue until everybody who gated it has let go."""

from __future__ import annotations

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import Awaited, PreEnqueue, Requeue, refuse
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod


class SchedulingGates(PreEnqueue, Requeue):
    """A pod with scheduling gates is not ready to be scheduled.

    Gates: a pod whose `spec.schedulingGates` is not empty, with all their names in the reason.
    Requeued by: the removal of the pod's last gate.
    Upstream: pkg/scheduler/framework/plugins/schedulinggates.
    """

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        gates = pod.spec.scheduling_gates
        if not gates:
            return None
        return refuse(f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")

    def events(self) -> tuple[Awaited, ...]:
        return (Awaited(changes.TARGET_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),)
