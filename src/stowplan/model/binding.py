"""The binding that puts a pod on a node: posted to the pod's `binding` subresource."""

from __future__ import annotations

from stowplan.model.meta import Namespaced, ObjectReference, always


class Binding(Namespaced, frozen=True, kw_only=True):
    """`metadata` names the pod (with its uid), `target` the node."""

    api_version: str = always("v1")
    kind: str = always("Binding")
    target: ObjectReference = ObjectReference()
