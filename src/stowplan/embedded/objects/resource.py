"""A kind of object that the API serves, as discovery describes it. `catalogue` lists the built-in ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from stowplan.embedded.objects.releases import RELEASE

#: An object as it travels: decoded JSON.
Object = dict[str, Any]

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of one version of one group."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    is_namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[str, ...] = ()
    #: Paths that field selectors may name beside metadata.name and metadata.namespace, such as "spec.nodeName".
    fields: tuple[str, ...] = ()
    is_custom: bool = False
    #: The release of Kubernetes that says what its fields are.
    release: str = RELEASE
    api_version: str = field(init=False, repr=False, compare=False)
    #: The name that messages use: `deployments.apps`, or just `pods` in the core group.
    qualified: str = field(init=False, repr=False, compare=False)
    #: Names the objects that it shows; resources of one storage show the same objects in different forms.
    storage: str = field(init=False, repr=False, compare=False)
    #: Whether a new object may come with a status: a node that registers itself says at once what it has.
    may_begin_with_status: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Asked for a dozen times for every request, so written once.
        object.__setattr__(self, "api_version", f"{self.group}/{self.version}" if self.group else self.version)
        object.__setattr__(self, "qualified", f"{self.plural}.{self.group}" if self.group else self.plural)
        object.__setattr__(self, "storage", "events" if self.group == "events.k8s.io" else self.qualified)
        begins_with_status = "status" not in self.subresources or self.qualified == "nodes"
        object.__setattr__(self, "may_begin_with_status", begins_with_status)

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"
