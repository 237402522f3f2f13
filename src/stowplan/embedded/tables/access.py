"""The columns of who may do what: role bindings. Roles have the default columns."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables.column import AGE, NAME, Sheet, column, wide


def role(binding: Object) -> str:
    return f"{reading.text(binding, 'roleRef', 'kind')}/{reading.text(binding, 'roleRef', 'name')}"


def subjects(binding: Object, kind: str) -> str:
    found = [each for each in reading.entries(binding, "subjects") if each.get("kind") == kind]
    return ", ".join(_subject(each) for each in found)


def _subject(subject: Object) -> str:
    name, namespace = reading.text(subject, "name"), reading.text(subject, "namespace")
    return f"{namespace}/{name}" if subject.get("kind") == "ServiceAccount" else name


_BINDING: Final = Sheet(
    (
        NAME,
        column("Role", role),
        AGE,
        wide("Users", lambda obj: subjects(obj, "User")),
        wide("Groups", lambda obj: subjects(obj, "Group")),
        wide("ServiceAccounts", lambda obj: subjects(obj, "ServiceAccount")),
    )
)

SHEETS: Final = {
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
}
