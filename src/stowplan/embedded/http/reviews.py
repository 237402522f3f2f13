"""Questions about access: who am I, whose is this token, may I; and the tokens that service accounts are given.

Without an authorizer, whoever has come in may do everything. `identity.service_tokens` signs tokens, `authentication`
believes them.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.authorization.rules import Question, of_attributes
from stowplan.embedded.http.authentication import Authenticator
from stowplan.embedded.identity.service_tokens import ISSUER, Account, BoundObject, Claims, KubernetesClaims
from stowplan.embedded.identity.users import User, account_name
from stowplan.embedded.objects.errors import Cause, StatusError, bad_request, invalid, not_found
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.request import Target
from stowplan.embedded.storage.stored import Stored
from stowplan.model.timestamps import format_time

_EVERYTHING: Final = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
_EVERY_PATH: Final = {"verbs": ["*"], "nonResourceURLs": ["*"]}
_ALLOWED: Final = {"allowed": True, "reason": "everybody who has come in may do everything in this cluster"}
#: The groups of what is only answered, and not kept.
REVIEWS: Final = ("authentication.k8s.io", "authorization.k8s.io")
#: What is sent to ask for the token of a service account.
TOKEN_REQUEST: Final = Resource("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests", "tokenrequest")
_USUAL_SECONDS: Final = 3600
_FEWEST_SECONDS: Final = 600
_MOST_SECONDS: Final = 2**32
#: What a token may be bound to, and the claim that says so.
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class Reviews:
    """Answers questions of users of one server."""

    def __init__(self, api: Api, authenticator: Authenticator, authorizer: Authorizer | None = None) -> None:
        self._api = api
        self._authenticator = authenticator
        self._authorizer = authorizer

    def answer(self, target: Target, obj: Object, user: User) -> Object:
        """The question with its answer in the status."""
        resource = target.resource
        obj.update(apiVersion=resource.api_version, kind=resource.kind)
        obj.setdefault("metadata", {})
        obj["status"] = self._status(target, obj.get("spec") or {}, user)
        return obj

    def grant(self, obj: Object, account: Stored) -> Object:
        """Give out a token for a service account. Raise StatusError if it is not to be had as asked."""
        _check_metadata(obj.get("metadata") or {}, account)
        spec = obj.get("spec") or {}
        seconds = _seconds(spec)
        place = _place(self._api, spec.get("boundObjectRef"), account)
        audiences = spec.get("audiences") or [ISSUER]
        now = self._api.now()
        begin = int(now.timestamp())
        name = account_name(account.namespace, account.name)
        claims = Claims(name, tuple(audiences), begin, begin + seconds, place)
        return {
            **obj,
            "apiVersion": TOKEN_REQUEST.api_version,
            "kind": TOKEN_REQUEST.kind,
            "metadata": {
                "name": account.name,
                "namespace": account.namespace,
                "uid": account.uid,
                "creationTimestamp": format_time(now),
            },
            "spec": {"boundObjectRef": None, **spec, "audiences": audiences, "expirationSeconds": seconds},
            "status": {
                "token": self._authenticator.signer.sign(claims),
                "expirationTimestamp": format_time(now + timedelta(seconds=seconds)),
            },
        }

    def _status(self, target: Target, spec: Object, user: User) -> Object:
        match target.resource.kind:
            case "SelfSubjectReview":
                return {"userInfo": user.described()}
            case "TokenReview":
                return self._token_status(spec)
            case "SelfSubjectRulesReview":
                return self._rules(spec.get("namespace") or "", user)
            case "SelfSubjectAccessReview":
                return self._access(target, spec, user)
            case _:
                return self._access(target, spec, _subject(target, spec))

    def _access(self, target: Target, spec: Object, user: User) -> Object:
        """Whether a user may do what is asked about."""
        question = _asked(target, spec)
        if self._authorizer is None:
            return dict(_ALLOWED)
        decision = self._authorizer.decide(user, question)
        status: Object = {"allowed": decision.is_allowed}
        return {**status, "reason": decision.reason} if decision.reason else status

    def _rules(self, namespace: str, user: User) -> Object:
        """What a user may do in a namespace."""
        if not namespace:
            raise bad_request("no namespace on request")
        if self._authorizer is None:
            return {"resourceRules": [_EVERYTHING], "nonResourceRules": [_EVERY_PATH], "incomplete": False}
        found, problem = self._authorizer.rules_for(user, namespace)
        rules: list[Object] = [msgspec.to_builtins(rule) for rule in found]
        status: Object = {
            "resourceRules": [rule for rule in rules if "resources" in rule],
            "nonResourceRules": [rule for rule in rules if "nonResourceURLs" in rule],
            "incomplete": False,
        }
        return {**status, "evaluationError": problem} if problem else status

    def _token_status(self, spec: Object) -> Object:
        if not spec.get("token"):
            raise bad_request("token is required for TokenReview in authentication")
        audiences = spec.get("audiences") or [ISSUER]
        user = self._authenticator.of_token(spec["token"], audiences)
        if user is None:
            return {"authenticated": False, "user": {}, "error": "the token is none that this cluster has given out"}
        return {"authenticated": True, "user": user.described(), "audiences": audiences}


def _asked(target: Target, spec: Object) -> Question:
    """What a review asks about. Raise StatusError if it does not say."""
    is_about_objects, is_about_path = "resourceAttributes" in spec, "nonResourceAttributes" in spec
    if is_about_objects and is_about_path:
        raise _bad(target, "nonResourceAttributes", "cannot be specified in combination with resourceAttributes")
    if not is_about_objects and not is_about_path:
        problem = "null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise _bad(target, "resourceAttributes", problem)
    question = of_attributes(spec)
    if target.namespace and question.namespace != target.namespace:
        problem = f'"{question.namespace}": must match metadata.namespace'
        raise _bad(target, "resourceAttributes.namespace", problem)
    return question


def _subject(target: Target, spec: Object) -> User:
    """Who a review asks about. Raise StatusError if it does not say."""
    name, groups = spec.get("user") or "", spec.get("groups") or ()
    if not name and not groups:
        raise _bad(target, "user", '"": at least one of user or group must be specified')
    return User(name, tuple(groups), spec.get("uid") or "")


def _bad(target: Target, field: str, problem: str) -> StatusError:
    return invalid(target.resource, "", [Cause("FieldValueInvalid", f"spec.{field}", f"Invalid value: {problem}")])


def _check_metadata(meta: Object, account: Stored) -> None:
    """What a request says of the account has to be true, if it says anything."""
    for field, given, own in (
        ("name", meta.get("name"), account.name),
        ("namespace", meta.get("namespace"), account.namespace),
    ):
        if given and given != own:
            problem = f'Invalid value: "{given}": must match the service account {field} if specified'
            raise invalid(TOKEN_REQUEST, account.name, [Cause("FieldValueInvalid", f"metadata.{field}", problem)])
    uid = meta.get("uid")
    if uid and uid != account.uid:
        problem = f"the UID in the token request ({uid}) does not match the UID of the service account ({account.uid})"
        raise _conflict("authentication.k8s.io", "TokenRequest", account.name, problem)


def _seconds(spec: Object) -> int:
    seconds: int | None = spec.get("expirationSeconds")
    if seconds is None:
        return _USUAL_SECONDS
    if _FEWEST_SECONDS <= seconds <= _MOST_SECONDS:
        return seconds
    bound = "less than 10 minutes" if seconds < _FEWEST_SECONDS else "larger than 2^32 seconds"
    problem = f"Invalid value: {seconds}: may not specify a duration {bound}"
    raise invalid(TOKEN_REQUEST, "", [Cause("FieldValueInvalid", "spec.expirationSeconds", problem)])


def _place(api: Api, reference: Object | None, account: Stored) -> KubernetesClaims:
    """What a token says of its account, and of the object that it is bound to."""
    owner = Account(account.name, account.uid)
    if reference is None:
        return KubernetesClaims(account.namespace, owner)
    kind, version, name = (reference.get(field) or "" for field in ("kind", "apiVersion", "name"))
    if kind not in _BINDABLE or "/" in version:
        group, _, short = version.rpartition("/")
        raise bad_request(f"cannot bind token to object of type {group}/{short}, Kind={kind}")
    resource = api.catalogue.find("", "v1", _BINDABLE[kind])
    assert resource is not None
    stored = api.store.get(resource, account.namespace if resource.is_namespaced else "", name)
    if stored is None:
        raise not_found(resource, name)
    uid = reference.get("uid") or ""
    if kind == "Pod" and (stored.object.get("spec") or {}).get("serviceAccountName") != account.name:
        problem = f'cannot bind token for serviceaccount "{account.name}" to pod running with different serviceaccount'
        raise bad_request(f"{problem} name.")
    if uid and uid != stored.uid:
        problem = f"the UID in the bound object reference ({uid}) does not match the UID in record. The object might"
        raise _conflict("", kind, stored.name, f"{problem} have been deleted and then recreated")
    return KubernetesClaims(account.namespace, owner, **{kind.lower(): BoundObject(stored.name, stored.uid)})


def _conflict(group: str, kind: str, name: str, problem: str) -> StatusError:
    qualified = f"{kind}.{group}" if group else kind
    details = {"name": name, "kind": kind, **({"group": group} if group else {})}
    return StatusError(409, "Conflict", f'Operation cannot be fulfilled on {qualified} "{name}": {problem}', details)
