"""The VolumeAttachments by node: volumes that are attached or about to be, whether or not a pod there uses them."""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from stowplan.framework.handle import Listers
from stowplan.model.storage import VolumeAttachment
from stowplan.plugins.nodevolumelimits.attach_references import Attachment

KIND: Final = "VolumeAttachment"


class AttachmentBook:
    """The attachments that name a driver and a persistent volume."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._seen = listers.version(KIND)
        self._by_name: dict[str, Attachment] = {}
        self._by_node: dict[str, set[Attachment]] = {}
        for found in listers.volume_attachments():
            self._put(found)

    def of(self, node_name: str) -> Set[Attachment]:
        """Return the attachments of a node."""
        return self._by_node.get(node_name, frozenset())

    def has(self, attachment: Attachment) -> bool:
        return self._by_name.get(attachment.name) == attachment

    def changed(self) -> set[str] | None:
        """Take over what changed since the last time, and return the nodes concerned; None if nobody remembers."""
        nodes: set[str] = set()
        version, seen = self._listers.version(KIND), self._seen
        if version == seen:
            return nodes
        self._seen, changed = version, self._listers.changed(KIND, seen)
        if changed is None:
            return None
        for _, name in set(changed):
            before, now = self._by_name.pop(name, None), self._listers.volume_attachment(name)
            if before is not None:
                nodes.add(before.node_name)
                self._by_node[before.node_name].discard(before)
            if now is not None:
                nodes.add(now.spec.node_name)
                self._put(now)
        return nodes

    def _put(self, found: VolumeAttachment) -> None:
        spec, volume_name = found.spec, found.spec.source.persistent_volume_name
        if spec.attacher and volume_name is not None:
            known = self._by_name[found.name] = Attachment(found.name, spec.node_name, spec.attacher, volume_name)
            self._by_node.setdefault(spec.node_name, set()).add(known)
