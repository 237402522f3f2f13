"""What a scheduler moves pods between, and what is in force; `ports.py` has the world outside.

`app/assembly.py` makes them, and each step of the flow is handed what it uses. The flow itself owns none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stowplan.cache.cache import Cache
from stowplan.engine.background_tasks import ClusterChanges
from stowplan.engine.extenders import Extenders
from stowplan.engine.post_filter import Evictions
from stowplan.engine.scheduling_cycle import ChoiceInputs
from stowplan.framework.profile import Profile
from stowplan.framework.waiting_pods import WaitingPods
from stowplan.queue.queue import SchedulingQueue


@dataclass(frozen=True, slots=True)
class SchedulerState:
    """The owners of state."""

    cache: Cache
    queue: SchedulingQueue
    #: The pods that Permit holds.
    waiting: WaitingPods
    #: Preemptions under way, and pods on their way that can still be turned back.
    evictions: Evictions
    #: Told when changes were applied.
    changes: ClusterChanges


@dataclass(slots=True)
class ActivePolicy:
    """What decides, replaced between two cycles when the configuration is read again."""

    profiles: Mapping[str, Profile]
    field: ChoiceInputs
    #: The extenders, if any have a say.
    extenders: Extenders | None = None
    #: The profiles under which pods may belong to gangs.
    gang_profiles: frozenset[str] = frozenset()
    #: Whether the cluster is told where a pod is about to go if that takes a while (NominatedNodeNameForExpectation).
    announces_nodes: bool = True
    #: Whether pod groups are placed by placements (TopologyAwareWorkloadScheduling), and by whose lot of equal ones.
    has_placements: bool = False
    draw: Callable[[int], int] = lambda below: 0
    #: Whether a group has a preemption policy of its own (PodGroupPreemptionPolicy).
    has_group_policies: bool = False
    #: The condition of a group that tells how its attempts went.
    group_condition: str = "PodGroupInitiallyScheduled"
