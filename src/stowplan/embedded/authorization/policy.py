"""Roles and bindings as the store has them, found by whom they are for.

They are read once; after that only what has changed is read again, when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from stowplan.embedded.authorization.rules import Rule, read_rules
from stowplan.embedded.identity.users import User, account_name
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.storage.catalogue import built_in
from stowplan.embedded.storage.store import Feed, Store, Stored
from stowplan.embedded.storage.stored import DELETED
from stowplan.model import decode
from stowplan.model.meta import LabelSelector
from stowplan.model.selectors import Selector, SelectorError, compile_label_selector

GROUP: Final = "rbac.authorization.k8s.io"
#: Resources of both kinds; cluster-wide ones come first, as they do in decisions.
_ROLES: Final = ("clusterroles", "roles")

#: Namespace and name; without a namespace it is for the whole cluster.
Key = tuple[str, str]


class Role(msgspec.Struct, frozen=True):
    """What may be done by somebody who has it."""

    rules: tuple[Rule, ...]
    labels: dict[str, str]
    #: Roles with such labels are part of this one, and are all there is to it; None if it stands for itself.
    parts: tuple[Selector, ...] | None = None


class RoleBinding(msgspec.Struct, frozen=True):
    """Who has which role, in its own namespace or, without one, everywhere."""

    key: Key
    role_kind: str
    role_name: str
    #: Kind and name of each, a service account by the name it has as a user, and the words for it.
    subjects: tuple[tuple[str, str, str], ...]

    @property
    def role_key(self) -> Key:
        return (self.key[0] if self.role_kind == "Role" else ""), self.role_name

    def is_for(self, user: User) -> str:
        """In which word the binding means a user; "" if it does not."""
        for kind, name, words in self.subjects:
            if name in user.groups if kind == "Group" else name == user.name:
                return words
        return ""


class Policy:
    """Roles and bindings of one store; `refresh` makes it know what has changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._roles: dict[Key, Role] = {}
        self._bindings: dict[Key, RoleBinding] = {}
        self._by_subject: dict[tuple[str, str], set[Key]] = {}
        self._feeds: dict[str, Feed] = {}
        self._read_all()

    def refresh(self) -> bool:
        """Read what has changed; say whether anything has."""
        behind = [plural for plural, feed in self._feeds.items() if feed.is_behind]
        try:
            for plural in behind:
                for change in self._feeds[plural].drain():
                    self._put(plural, change.stored, is_gone=change.kind == DELETED)
        except StatusError:
            # So much has changed that the store has forgotten some of it.
            self._read_all()
        return bool(behind)

    def bindings_of(self, user: User) -> list[RoleBinding]:
        """The bindings that mean a user, those for the whole cluster first."""
        subjects = [("User", user.name), *(("Group", group) for group in user.groups)]
        keys = set[Key]().union(*(self._by_subject.get(subject, ()) for subject in subjects))
        return [self._bindings[key] for key in sorted(keys)]

    def rules_of(self, key: Key) -> tuple[Rule, ...] | None:
        """What a role allows, with all that is part of it; None if there is no such role."""
        role = self._roles.get(key)
        if role is None or role.parts is None:
            return None if role is None else role.rules
        return tuple(dict.fromkeys(self._gathered(role, {key})))

    def _gathered(self, role: Role, seen: set[Key]) -> Iterator[Rule]:
        """The rules of a role; one that is made of others may be part of itself by way of these."""
        if role.parts is None:
            yield from role.rules
            return
        for key, other in self._roles.items():
            is_part = not key[0] and any(part.matches(other.labels) for part in role.parts)
            if is_part and key not in seen:
                seen.add(key)
                yield from self._gathered(other, seen)

    def _read_all(self) -> None:
        for index in (self._roles, self._bindings, self._by_subject):
            index.clear()
        for plural in (*_ROLES, "clusterrolebindings", "rolebindings"):
            resource = built_in(GROUP, plural)
            self._feeds[plural] = self._store.feed(resource, self._store.version)
            for stored in self._store.list(resource):
                self._put(plural, stored, is_gone=False)

    def _put(self, plural: str, stored: Stored, *, is_gone: bool) -> None:
        if plural in _ROLES:
            self._roles.pop(stored.key, None)
            if not is_gone:
                self._roles[stored.key] = _read_role(stored.object)
            return
        before = self._bindings.pop(stored.key, None)
        for subject in () if before is None else before.subjects:
            self._by_subject[subject[:2]].discard(stored.key)
        if not is_gone:
            binding = self._bindings[stored.key] = _read_binding(stored.object)
            for subject in binding.subjects:
                self._by_subject.setdefault(subject[:2], set()).add(stored.key)


def _read_role(obj: Object) -> Role:
    aggregation = obj.get("aggregationRule")
    parts = None if aggregation is None else tuple(_selectors(aggregation.get("clusterRoleSelectors") or ()))
    return Role(read_rules(obj), obj["metadata"].get("labels") or {}, parts)


def _selectors(written: Iterable[Object]) -> Iterator[Selector]:
    for each in written:
        try:
            yield compile_label_selector(decode.convert(LabelSelector, each))
        except SelectorError:
            # What nobody can read selects nothing.
            continue


def _read_binding(obj: Object) -> RoleBinding:
    metadata, reference = obj["metadata"], obj.get("roleRef") or {}
    subjects = tuple(_read_subjects(obj.get("subjects") or ()))
    key = (metadata.get("namespace") or "", metadata["name"])
    return RoleBinding(key, reference.get("kind") or "", reference.get("name") or "", subjects)


def _read_subjects(subjects: Iterable[Object]) -> Iterator[tuple[str, str, str]]:
    for subject in subjects:
        kind, name = subject.get("kind") or "", subject.get("name") or ""
        if kind in ("User", "Group"):
            yield kind, name, f'{kind} "{name}"'
        elif kind == "ServiceAccount" and subject.get("namespace"):
            namespace = subject["namespace"]
            yield "User", account_name(namespace, name), f'{kind} "{name}/{namespace}"'
