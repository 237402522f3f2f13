"""The namespace: scheduling reads its labels, for the namespace selectors of pod affinity."""

from __future__ import annotations

from stowplan.model.meta import Named, Part, always


class NamespaceStatus(Part, frozen=True, kw_only=True):
    phase: str = "Active"


class Namespace(Named, frozen=True, kw_only=True):
    api_version: str = always("v1")
    kind: str = always("Namespace")
    status: NamespaceStatus = NamespaceStatus()

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels
