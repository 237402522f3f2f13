"""What every controller is given: the API, the extracts that all share, and the clock."""

from __future__ import annotations

from dataclasses import dataclass

from stowplan.embedded.api import Api
from stowplan.embedded.following.events import Now, Recorder
from stowplan.embedded.following.nodes import Nodes
from stowplan.embedded.following.pods import Pods


@dataclass(frozen=True, slots=True)
class Setting:
    """One per cluster."""

    api: Api
    pods: Pods
    nodes: Nodes
    now: Now

    def recorder(self, component: str) -> Recorder:
        return Recorder(self.api, component, self.now)
