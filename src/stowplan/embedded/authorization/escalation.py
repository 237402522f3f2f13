"""Nobody grants what he has not got: whoever writes a role or a binding needs all that it allows.

Who may `escalate` a role, or `bind` it, needs not; nor does who may do everything. Who approves a request for a
certificate, or signs it, needs the trust of its signer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.authorization.policy import GROUP, Key
from stowplan.embedded.authorization.rules import ALL, Question, Rule, read_rules
from stowplan.embedded.identity.users import MASTERS, User
from stowplan.embedded.objects.errors import StatusError, forbidden, not_found
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.parts import APPROVAL, STATUS
from stowplan.embedded.requests.request import Target

#: Refuses an object that its author may not write, given what it was before; raises StatusError.
Guard = Callable[[Resource, Object, Object | None], None]

_REQUESTS: Final = "certificatesigningrequests.certificates.k8s.io"
_EVERYTHING: Final = (Question(ALL, ALL, ALL), Question(ALL, path=ALL))
#: Of more single things nobody is asked whether he has them: few words make very many.
_MOST_GRANTS: Final = 10_000


def guard(authorizer: Authorizer, user: User, target: Target) -> Guard | None:
    """What has to be asked before a user writes an object, or a part of it; None if nothing has."""
    resource = target.resource
    if MASTERS in user.groups:
        return None
    if target.subresource == APPROVAL:
        return lambda resource, obj, _: _check_trust(authorizer, user, "approve", resource, obj)
    if target.subresource == STATUS and resource.qualified == _REQUESTS:
        return lambda resource, obj, before: _check_signing(authorizer, user, resource, (obj, before or {}))
    if resource.group != GROUP:
        return None
    check = _check_role if resource.plural in ("roles", "clusterroles") else _check_binding
    return lambda resource, obj, _: check(authorizer, user, resource, obj)


def _check_signing(authorizer: Authorizer, user: User, resource: Resource, versions: tuple[Object, Object]) -> None:
    """Who says what came of a request speaks for its signer; the rest of the status is anybody's."""
    told, before = (one.get("status") or {} for one in versions)
    if any((told.get(field) or None) != (before.get(field) or None) for field in ("certificate", "conditions")):
        _check_trust(authorizer, user, "sign", resource, versions[0])


def _check_trust(authorizer: Authorizer, user: User, verb: str, resource: Resource, request: Object) -> None:
    """Who approves or signs what a signer is asked for needs that signer's trust, or that of all of its domain."""
    signer = request["spec"].get("signerName", "")
    for name in (signer, f"{signer.partition('/')[0]}/*"):
        question = Question(verb, resource.group, "signers", name=name)
        if authorizer.decide(user, question).is_allowed:
            return
    problem = f'user not permitted to {verb} requests with signerName "{signer}"'
    raise forbidden(resource, request["metadata"]["name"], problem)


def _check_role(authorizer: Authorizer, user: User, resource: Resource, role: Object) -> None:
    metadata = role["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    if authorizer.decide(user, Question("escalate", GROUP, resource.plural, "", namespace, name)).is_allowed:
        return
    if "aggregationRule" in role and not all(authorizer.decide(user, each).is_allowed for each in _EVERYTHING):
        raise forbidden(resource, name, "must have cluster-admin privileges to use the aggregationRule")
    _check(authorizer, user, namespace, read_rules(role), lambda problem: forbidden(resource, name, problem))


def _check_binding(authorizer: Authorizer, user: User, resource: Resource, binding: Object) -> None:
    metadata, reference = binding["metadata"], binding.get("roleRef") or {}
    namespace, role = metadata.get("namespace", ""), reference.get("name", "")
    plural = "roles" if reference.get("kind") == "Role" else "clusterroles"
    if authorizer.decide(user, Question("bind", GROUP, plural, "", namespace, role)).is_allowed:
        return
    key: Key = (namespace if plural == "roles" else "", role)
    rules = authorizer.rules_of(key)
    if rules is None:
        raise not_found(resource, role)
    _check(authorizer, user, namespace, rules, lambda problem: forbidden(resource, metadata["name"], problem))


def _check(
    authorizer: Authorizer,
    user: User,
    namespace: str,
    rules: Sequence[Rule],
    refusal: Callable[[str], StatusError],
) -> None:
    if sum(map(_number_of_grants, rules)) > _MOST_GRANTS:
        if all(authorizer.decide(user, each).is_allowed for each in _EVERYTHING):
            return
        raise refusal(
            f"its rules allow more than {_MOST_GRANTS} single things; who has not got everything may grant less"
        )
    missing = [each for each in _grants(namespace, rules) if not authorizer.decide(user, each).is_allowed]
    if missing:
        what = "is attempting to grant RBAC permissions not currently held"
        raise refusal("\n".join((f'user "{user.name}" (groups=[{_quoted(user.groups)}]) {what}:', *_spelled(missing))))


def _number_of_grants(rule: Rule) -> int:
    things = len(rule.api_groups) * len(rule.resources) * max(len(rule.resource_names), 1)
    return len(rule.verbs) * (things + len(rule.non_resource_urls))


def _grants(namespace: str, rules: Iterable[Rule]) -> Iterator[Question]:
    """Every single thing that rules allow."""
    for rule in rules:
        names = rule.resource_names or ("",)
        for verb, group, combined, name in product(rule.verbs, rule.api_groups, rule.resources, names):
            resource, _, part = combined.partition("/")
            yield Question(verb, group, resource, part, namespace, name)
        for verb, url in product(rule.verbs, rule.non_resource_urls):
            yield Question(verb, path=url)


def _spelled(missing: Iterable[Question]) -> list[str]:
    """What is missing, with all verbs on one thing in one line."""
    verbs: dict[str, list[str]] = {}
    for each in missing:
        found = verbs.setdefault(_thing(each), [])
        if each.verb not in found:
            found.append(each.verb)
    return sorted(f"{{{thing}, Verbs:[{_quoted(found)}]}}" for thing, found in verbs.items())


def _thing(question: Question) -> str:
    if question.path:
        return f'NonResourceURLs:["{question.path}"]'
    names = f', ResourceNames:["{question.name}"]' if question.name else ""
    return f'APIGroups:["{question.group}"], Resources:["{question.combined}"]{names}'


def _quoted(words: Iterable[str]) -> str:
    return " ".join(f'"{word}"' for word in words)
