"""What every controller is given: the API, the extracts that all share, and the clock."""

from __future__ import annotations

from dataclasses import dataclass

from stowplan.embedded.following.events import Now, Recorder
from stowplan.embedded.following.failures import Failures, Locate
from stowplan.embedded.following.nodes import Nodes
from stowplan.embedded.following.pods import Pods
from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.registry.api import Api


@dataclass(frozen=True, slots=True)
class Setting:
    """One per cluster."""

    api: Api
    pods: Pods
    nodes: Nodes
    now: Now

    def recorder(self, component: str) -> Recorder:
        return Recorder(self.api, component, self.now)

    def failures(self, component: str, resource: Resource) -> Failures:
        """Where a component tells what it could not do with the objects of a resource."""
        return self.failures_at(component, lambda key: (resource, *key))

    def failures_at(self, component: str, locate: Locate) -> Failures:
        """The same for one that looks after several resources."""
        return Failures(self.recorder(component), self.api, locate)
