"""What a benchmark writes to a real API server, request by request.

A server has opinions that upstream's benchmark switches off in its own: new nodes are tainted until somebody finds them
ready, a pod may not name its priority, and a namespace needs an account. Here each is given what it wants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from stowplan.bench.originals import Originals
from stowplan.bench.parameters import WorkloadError
from stowplan.kube.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client
from stowplan.kube.errors import ApiError
from stowplan.kube.resources import RESOURCES, ApiResource
from stowplan.kube.transport import ApiRequest
from stowplan.model import decode
from stowplan.model.dra import ResourceClaimTemplate
from stowplan.model.kinds import Namespace
from stowplan.model.node import Node
from stowplan.model.pod import Pod

DEFAULT_NAMESPACE: Final = "default"
PRIORITY_CLASSES: Final = ApiResource("PriorityClass", "/apis/scheduling.k8s.io/v1", "priorityclasses")
_SERVICE_ACCOUNTS: Final = ApiResource("ServiceAccount", "/api/v1", "serviceaccounts")
_CLAIM_TEMPLATES: Final = ApiResource(
    "ResourceClaimTemplate", "/apis/resource.k8s.io/v1", "resourceclaimtemplates", ResourceClaimTemplate
)
_STATUS: Final = "status"


class RemoteRequests:
    """Writes objects with a client; `originals` has what templates say beyond what scheduling reads."""

    def __init__(self, client: Client, originals: Originals) -> None:
        self.client, self.originals = client, originals

    async def create(self, found: Any) -> bytes:
        """Create an object; return what the server has made of it."""
        content = self.originals.completed(found)
        if isinstance(found, Pod):
            content = with_priority_class(content)
        return await self._post(resource_of(found), found.metadata.namespace, content)

    async def complete(self, found: Any, answer: bytes) -> None:
        """Do what a new object needs before it can be used, given what the server has made of it."""
        if isinstance(found, Namespace):
            await self._create_account(found.metadata.name)
        elif isinstance(found, Node):
            await self._lift_taints(found, answer)

    async def change(self, known: Any, wanted: Any) -> None:
        """Change an object to what is wanted: what is not its status first, then that."""
        patch = difference(decode.to_builtins(known), decode.to_builtins(wanted))
        status = patch.pop(_STATUS, None)
        path = path_of(wanted)
        if isinstance(wanted, Pod) and patch.get("spec", {}).pop("containers", None):
            await self.patch(f"{path}/resize", {"spec": {"containers": resized(wanted)}}, STRATEGIC_MERGE_PATCH)
        if patch.get("metadata") or patch.get("spec"):
            await self.patch(path, patch)
        if status:
            await self.patch(f"{path}/{_STATUS}", {_STATUS: status})

    async def delete(self, found: Any, grace_seconds: int | None = None) -> None:
        await self.delete_at(path_of(found), grace_seconds)

    async def delete_at(self, path: str, grace_seconds: int | None = None) -> bytes:
        """Delete an object or a collection; what is gone is what was wanted. Return what the server says."""
        parameters = {} if grace_seconds is None else {"gracePeriodSeconds": str(grace_seconds)}
        try:
            return await self.client.send(ApiRequest("DELETE", path, parameters))
        except ApiError as error:
            if not error.is_not_found:
                raise
            return b"{}"

    async def patch(self, path: str, patch: Mapping[str, Any], content_type: str = MERGE_PATCH) -> None:
        body = msgspec.json.encode(patch)
        await self.client.send(ApiRequest("PATCH", path, body=body, content_type=content_type))

    async def create_priority_class(self, value: int) -> None:
        name = priority_class_name(value)
        content = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        await self._post_unless_there(PRIORITY_CLASSES, "", {**content, "value": value})

    async def list_items(self, path: str) -> list[Any]:
        """Return all objects of a collection, none if it is not served."""
        try:
            answer = await self.client.send(ApiRequest("GET", path))
        except ApiError as error:
            if error.is_not_found:
                return []
            raise
        return msgspec.json.decode(answer, type=dict[str, Any]).get("items") or []

    async def _create_account(self, namespace: str) -> None:
        """Make the account of a namespace, unless a controller was faster: no pod is taken without it."""
        content = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        await self._post_unless_there(_SERVICE_ACCOUNTS, namespace, content)

    async def _lift_taints(self, node: Node, answer: bytes) -> None:
        """Take away what admission put on a new node: there is no controller and no kubelet that would."""
        wanted = decode.to_builtins(node).get("spec", {}).get("taints", ())
        given = msgspec.json.decode(answer, type=dict[str, Any]).get("spec", {}).get("taints", ())
        if len(given) != len(wanted):
            await self.patch(path_of(node), {"spec": {"taints": list(wanted)}})

    async def _post_unless_there(self, resource: ApiResource, namespace: str, content: Mapping[str, Any]) -> None:
        try:
            await self._post(resource, namespace, content)
        except ApiError as error:
            if not error.is_already_exists:
                raise

    async def _post(self, resource: ApiResource, namespace: str, content: Mapping[str, Any]) -> bytes:
        path = resource.path_in(namespace) if namespace else resource.path
        return await self.client.send(ApiRequest("POST", path, body=msgspec.json.encode(content)))


def resource_of(found: Any) -> ApiResource:
    if isinstance(found, ResourceClaimTemplate):
        return _CLAIM_TEMPLATES
    resource = RESOURCES.get(found.kind)
    if resource is None or resource.model is not type(found):
        raise WorkloadError(f"{found.kind} of {found.api_version} is not known here, and cannot be created")
    return resource


def path_of(found: Any) -> str:
    return resource_of(found).path_of(found.metadata.namespace, found.metadata.name)


def priority_class_name(value: int) -> str:
    return f"stowplan-bench-{value}" if value >= 0 else f"stowplan-bench-minus-{-value}"


def with_priority_class(content: dict[str, Any]) -> dict[str, Any]:
    """Have a pod name the class of its priority, from which admission takes it, in the place of the number."""
    spec = dict(content.get("spec", {}))
    value = spec.pop("priority", None)
    if value and not spec.get("priorityClassName"):
        spec["priorityClassName"] = priority_class_name(value)
    return {**content, "spec": spec}


def resized(pod: Pod) -> list[dict[str, Any]]:
    """Return what the containers of a pod are to have: of all that is theirs, a server lets only that be changed."""
    containers = decode.to_builtins(pod)["spec"]["containers"]
    return [{"name": one["name"], "resources": one.get("resources", {})} for one in containers]


def difference(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch that makes one out of the other."""
    patch: dict[str, Any] = {key: None for key in known if key not in wanted}
    for key, value in wanted.items():
        old = known.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            inner = difference(old, value)
            if inner:
                patch[key] = inner
        elif old != value:
            patch[key] = value
    return patch
