"""Asks the API server who somebody is and what they may do: `serving.identity.Reviewer` over the client of `kube`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stowplan.kube.client import ApiRequest, Client
from stowplan.serving.identity import AccessRequest, Decision, User

_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_CONFIG = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


class KubeReviewer:
    """Has requests reviewed by an API server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def review_token(self, token: str) -> User | None:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = await self._review(_TOKENS, body)
        if not status.get("authenticated"):
            return None
        user = status.get("user") or {}
        extra = {key: tuple(values) for key, values in (user.get("extra") or {}).items()}
        return User(user.get("username", ""), tuple(user.get("groups") or ()), user.get("uid", ""), extra)

    async def review_access(self, request: AccessRequest) -> Decision:
        user = request.user
        spec = {
            "user": user.name,
            "groups": list(user.groups),
            "uid": user.uid,
            "extra": {key: list(values) for key, values in user.extra.items()},
            "nonResourceAttributes": {"path": request.path, "verb": request.verb},
        }
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        status = await self._review(_ACCESS, body)
        return Decision(bool(status.get("allowed")), status.get("reason", ""))

    async def authentication_config(self) -> Mapping[str, str]:
        found = msgspec.json.decode(await self._client.send(ApiRequest("GET", _CONFIG)), type=dict[str, Any])
        data: dict[str, str] = found.get("data") or {}
        return data

    async def _review(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self._client.send(ApiRequest("POST", path, body=msgspec.json.encode(body)))
        status: dict[str, Any] = msgspec.json.decode(answer, type=dict[str, Any]).get("status") or {}
        return status
