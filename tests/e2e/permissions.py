"""What a user may do by its roles, and what it did by the audit log, in the same terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from tests.e2e.api import Object

#: What a server asks for besides, without a request of that name.
BESIDES: Final = {"resourceclaims/status": "resourceclaims/binding"}


@dataclass(frozen=True, slots=True, order=True)
class Permission:
    """One verb on one resource; without a namespace in all of them, without a name for all names."""

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""

    def covers(self, event: Object) -> bool:
        """Tell whether this is what allowed an audited request, or a part of that."""
        target = event["objectRef"]
        subresource = target.get("subresource")
        resource = f"{target['resource']}/{subresource}" if subresource else target["resource"]
        return (
            (self.group, self.verb) == (target.get("apiGroup", ""), event["verb"])
            and self.resource in (resource, BESIDES.get(resource))
            and self.namespace in ("", target.get("namespace", ""))
            and self.name in ("", target.get("name", ""))
        )

    def attributes(self) -> Object:
        """Return what a SubjectAccessReview asks about it."""
        resource, _, subresource = self.resource.partition("/")
        found = {
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "verb": self.verb,
            "namespace": self.namespace,
            "name": self.name,
        }
        return {key: value for key, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Where roles and requests differ, each in words or as a permission."""

    denied: list[str]
    uncovered: list[str]
    unused: list[Permission]


def granted(roles: Iterable[Object]) -> list[Permission]:
    """Return the permissions of roles and cluster roles, one by one."""
    return [permission for role in roles for rule in role["rules"] for permission in _expanded(role, rule)]


def compare(permissions: list[Permission], events: Iterable[Object]) -> Comparison:
    """Hold the requests of one user against the permissions it has; what every user may do is left out."""
    denied, uncovered, used = set(), set(), set()
    for event in events:
        if "objectRef" not in event:
            continue
        covering = [one for one in permissions if one.covers(event)]
        used.update(covering)
        if event["responseStatus"].get("code") == 403:
            denied.add(describe(event))
        if not covering:
            uncovered.add(describe(event))
    return Comparison(sorted(denied), sorted(uncovered), sorted(set(permissions) - used))


def describe(event: Object) -> str:
    return f"{event['verb']} {event['requestURI']}"


def _expanded(role: Object, rule: Object) -> Iterator[Permission]:
    namespace = role["metadata"].get("namespace", "")
    names = rule.get("resourceNames", [""])
    for group, resource, verb, name in product(rule["apiGroups"], rule["resources"], rule["verbs"], names):
        yield Permission(group, resource, verb, namespace, name)
