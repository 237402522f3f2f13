"""Decides whether a user may do something, and refuses a request that may not be made.

What a user may do is looked up once; as long as no role and no binding changes, a decision is a look into a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from stowplan.embedded.authorization import rules as questions
from stowplan.embedded.authorization.policy import GROUP, Key, Policy, RoleBinding
from stowplan.embedded.authorization.rules import Question, Rule
from stowplan.embedded.identity.users import MASTERS, User
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.requests.incoming import Incoming
from stowplan.embedded.storage.store import Store

#: Beyond so many the tables are begun anew, so that nobody fills the memory with names.
_MOST_USERS: Final = 1000
_MOST_ANSWERS: Final = 10_000
#: Upstream writes these so that a message can be shown on a page.
_ESCAPED: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Grant(msgspec.Struct, frozen=True):
    """What one binding allows one user."""

    namespace: str
    #: Who granted it, in the words of an access review.
    source: str
    rules: tuple[Rule, ...]
    #: Why there are no rules, if the role is not there.
    problem: str = ""

    def reaches(self, namespace: str) -> bool:
        return self.namespace in ("", namespace)


class AccessDecision(msgspec.Struct, frozen=True):
    """Whether something is allowed, and by what; if not, what was wrong with what might have allowed it."""

    is_allowed: bool
    reason: str = ""


class Authorizer:
    """Knows what the users of one server may do."""

    def __init__(self, store: Store) -> None:
        self._policy = Policy(store)
        self._by_user: dict[User, _Permissions] = {}

    def check(self, request: Incoming) -> None:
        """Refuse a request that its user may not make. Raise StatusError 403."""
        if MASTERS not in request.user.groups:
            self.demand(request.user, questions.of_request(request))

    def check_creation(self, request: Incoming) -> None:
        """Refuse a change that makes a new object, if its user may not create it. Raise StatusError 403."""
        self.demand(request.user, msgspec.structs.replace(questions.of_request(request), verb="create"))

    def demand(self, user: User, question: Question) -> None:
        """Raise StatusError 403 if a user may not do something."""
        decision = self.decide(user, question)
        if not decision.is_allowed:
            raise _refusal(user, question, decision.reason)

    def decide(self, user: User, question: Question) -> AccessDecision:
        """Say whether a user may do something."""
        if MASTERS in user.groups:
            return AccessDecision(is_allowed=True)
        return self._permissions(user).decide(question)

    def rules_for(self, user: User, namespace: str) -> tuple[list[Rule], str]:
        """Everything that a user may do in a namespace and in the cluster as a whole; and which roles are missing."""
        grants = [grant for grant in self._permissions(user).grants if grant.reaches(namespace)]
        return [rule for grant in grants for rule in grant.rules], _problems(grants)

    def rules_of(self, role: Key) -> tuple[Rule, ...] | None:
        """What a role allows; None if there is no such role."""
        if self._policy.refresh():
            self._by_user.clear()
        return self._policy.rules_of(role)

    def _permissions(self, user: User) -> _Permissions:
        if self._policy.refresh() or len(self._by_user) > _MOST_USERS:
            self._by_user.clear()
        permissions = self._by_user.get(user)
        if permissions is None:
            granted = (_grant(self._policy, binding, user) for binding in self._policy.bindings_of(user))
            permissions = self._by_user[user] = _Permissions(tuple(granted))
        return permissions


class _Permissions:
    """What one user has been granted, and the answers that follow from it."""

    def __init__(self, grants: tuple[Grant, ...]) -> None:
        self.grants = grants
        self._answers: dict[tuple[str, str, str, str], list[tuple[Rule, str]]] = {}

    def decide(self, question: Question) -> AccessDecision:
        for rule, source in self._of_paths(question) if question.path else self._of_objects(question):
            if question.path or rule.has_name(question.name):
                return AccessDecision(True, f"RBAC: allowed by {source}")
        problem = _problems(grant for grant in self.grants if grant.reaches(question.namespace))
        return AccessDecision(False, f"RBAC: {problem}" if problem else "")

    def _of_objects(self, question: Question) -> list[tuple[Rule, str]]:
        """The rules that allow what is asked, for some names at least; most questions differ by the name only."""
        key = (question.namespace, question.verb, question.group, question.combined)
        found = self._answers.get(key)
        if found is None:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            found = self._answers[key] = [
                (rule, source) for rule, source in self._within(question.namespace) if rule.allows_some(question)
            ]
        return found

    def _of_paths(self, question: Question) -> Iterator[tuple[Rule, str]]:
        return ((rule, source) for rule, source in self._within("") if rule.allows(question))

    def _within(self, namespace: str) -> Iterator[tuple[Rule, str]]:
        return ((rule, grant.source) for grant in self.grants if grant.reaches(namespace) for rule in grant.rules)


def _grant(policy: Policy, binding: RoleBinding, user: User) -> Grant:
    namespace, name = binding.key
    kind, shown = ("RoleBinding", f"{name}/{namespace}") if namespace else ("ClusterRoleBinding", name)
    source = f'{kind} "{shown}" of {binding.role_kind} "{binding.role_name}" to {binding.is_for(user)}'
    rules = policy.rules_of(binding.role_key)
    if rules is None:
        return Grant(namespace, source, (), f'{binding.role_kind.lower()}.{GROUP} "{binding.role_name}" not found')
    return Grant(namespace, source, rules)


def _problems(grants: Iterable[Grant]) -> str:
    """What is wrong with grants, each thing once."""
    problems = list(dict.fromkeys(grant.problem for grant in grants if grant.problem))
    return f"[{', '.join(problems)}]" if len(problems) > 1 else "".join(problems)


def _refusal(user: User, question: Question, reason: str) -> StatusError:
    problem = f'User "{user.name}" cannot {question.verb} {_object(question)}'.translate(_ESCAPED)
    if reason:
        problem = f"{problem}: {reason}"
    if question.path:
        return StatusError(403, "Forbidden", f"forbidden: {problem}", {})
    qualified = f"{question.resource}.{question.group}" if question.group else question.resource
    named = f'{qualified} "{question.name}"' if question.name else qualified
    details = {"name": question.name, "group": question.group, "kind": question.resource}
    told = {key: value for key, value in details.items() if value}
    return StatusError(403, "Forbidden", f"{named} is forbidden: {problem}", told)


def _object(question: Question) -> str:
    if question.path:
        return f'path "{question.path}"'
    where = f'in the namespace "{question.namespace}"' if question.namespace else "at the cluster scope"
    return f'resource "{question.combined}" in API group "{question.group}" {where}'
