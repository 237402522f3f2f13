"""Tells the cluster where a pod goes."""

from __future__ import annotations

from stowplan.framework.contract import Bind
from stowplan.framework.handle import BindingHandle
from stowplan.model.kinds import Binding
from stowplan.model.meta import NamespacedMeta, ObjectReference
from stowplan.model.pod import Pod


class DefaultBinder(Bind):
    """The pod is bound by posting a Binding to the API server.

    Binds: every pod it is asked about, under the pod's uid, so that a new pod of the same name is not bound by mistake.
    Upstream: pkg/scheduler/framework/plugins/defaultbinder.
    """

    def __init__(self, *, handle: BindingHandle) -> None:
        self._handle = handle

    async def bind(self, pod: Pod, node_name: str) -> None:
        meta = NamespacedMeta(namespace=pod.namespace, name=pod.name, uid=pod.uid)
        await self._handle.binder.bind(Binding(metadata=meta, target=ObjectReference(kind="Node", name=node_name)))
