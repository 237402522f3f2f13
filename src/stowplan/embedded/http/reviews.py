"""Questions about access: who am I, whose is this token, may I.

Without an authorizer, whoever has come in may do everything.
"""

from __future__ import annotations

from typing import Final

import msgspec

from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.authorization.question import Question, of_attributes
from stowplan.embedded.http import token_requests
from stowplan.embedded.http.authentication import Authenticator
from stowplan.embedded.identity.service_tokens import ISSUER
from stowplan.embedded.identity.users import User
from stowplan.embedded.objects.errors import Cause, StatusError, bad_request, invalid
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.request import Target
from stowplan.embedded.storage.stored import Stored

_EVERYTHING: Final = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
_EVERY_PATH: Final = {"verbs": ["*"], "nonResourceURLs": ["*"]}
_ALLOWED: Final = {"allowed": True, "reason": "everybody who has come in may do everything in this cluster"}
_REVIEWS: Final = ("authentication.k8s.io", "authorization.k8s.io")


def is_review(resource: Resource) -> bool:
    return resource.group in _REVIEWS


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

    def grant(self, obj: Object, stored: Stored) -> Object:
        """Give out a token for a service account."""
        return token_requests.grant(self._api, self._authenticator.signer, obj, stored)

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
