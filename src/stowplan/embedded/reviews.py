"""Questions about access: who am I, may I. Whoever has come in may do everything."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from stowplan.embedded.resource import Object, Resource
from stowplan.model.timestamps import format_time

#: What is sent to ask for the token of a service account.
TOKEN_REQUEST: Final = Resource("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests", "tokenrequest")

_GROUPS: Final = ("system:masters", "system:authenticated")
_EVERYTHING: Final = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
_EVERY_PATH: Final = {"verbs": ["*"], "nonResourceURLs": ["*"]}
_ALLOWED: Final = {"allowed": True, "reason": "everybody who has come in may do everything in this cluster"}
_TOKEN_SECONDS: Final = 3600
_LONGEST_TOKEN_SECONDS: Final = 10 * 365 * 24 * 3600
_REVIEWS: Final = ("authentication.k8s.io", "authorization.k8s.io")


def is_review(resource: Resource) -> bool:
    return resource.group in _REVIEWS


def answer(resource: Resource, obj: Object, user: str, token: str) -> Object:
    """The question with its answer in the status; `token` is the one that opens this server, if there is one."""
    obj.update(apiVersion=resource.api_version, kind=resource.kind)
    obj.setdefault("metadata", {})
    obj["status"] = _status(resource, obj, user, token)
    return obj


def grant(obj: Object, token: str, now: datetime) -> Object:
    """Give out a token for a service account. There is one for all; without one, any is as good."""
    seconds = (obj.get("spec") or {}).get("expirationSeconds") or _TOKEN_SECONDS
    end = now + timedelta(seconds=min(max(0, seconds), _LONGEST_TOKEN_SECONDS))
    obj.update(apiVersion="authentication.k8s.io/v1", kind="TokenRequest")
    obj["status"] = {"token": token or "any", "expirationTimestamp": format_time(end)}
    return obj


def _status(resource: Resource, obj: Object, user: str, token: str) -> Object:
    known: dict[str, Any] = {"username": user, "groups": list(_GROUPS)}
    match resource.kind:
        case "SelfSubjectReview":
            return {"userInfo": known}
        case "TokenReview":
            given = (obj.get("spec") or {}).get("token")
            if not given or (token and given != token):
                return {"authenticated": False, "user": {}, "error": "the token is not the one of this cluster"}
            return {"authenticated": True, "user": known}
        case "SelfSubjectRulesReview":
            return {"resourceRules": [_EVERYTHING], "nonResourceRules": [_EVERY_PATH], "incomplete": False}
        case _:
            return dict(_ALLOWED)
