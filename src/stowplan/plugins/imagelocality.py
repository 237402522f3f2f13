"""Draws pods to nodes that already hold their images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from stowplan.framework.contract import MAX_SCORE, Score
from stowplan.framework.handle import Handle
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask, Scores
from stowplan.table.nodes import Nodes

MEBIBYTE: Final = 1024 * 1024
LEAST_BYTES: Final = 23 * MEBIBYTE
MOST_BYTES_PER_IMAGE: Final = 1000 * MEBIBYTE


class ImageLocality(Score):
    """A node that holds the images need not pull them.

    Scores: the bytes a node holds of the images of the pod's containers, init containers and image volumes, each image
        weighed by the share of all nodes that hold it, so that a rare image does not draw every pod to one node.
        23 MiB and below score 0; 1000 MiB for each container and image volume score 100 (in 1.36, for each container).
    Upstream: pkg/scheduler/framework/plugins/imagelocality.
    """

    default_weight = 1

    def __init__(self, handle: Handle) -> None:
        self._counts_volumes = handle.feature_gates.changed("ImageVolumesCount")

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        held = np.zeros(len(nodes), dtype=np.int64)
        images, wanted = nodes.images, list(_images(pod))
        names = [name for name in wanted if images.holders(name)]
        if not names:
            return held
        total = nodes.cluster_size
        for name in names:
            held += int(images.size(name) * (images.holders(name) / total)) * _has_image(nodes, name)
        containers = len(pod.spec.init_containers) + len(pod.spec.containers)
        most = MOST_BYTES_PER_IMAGE * (len(wanted) if self._counts_volumes else containers)
        # In this order: a pod that has image volumes alone has a bound of 0 in 1.36, and 100 where it holds enough.
        counted = np.where(held < LEAST_BYTES, LEAST_BYTES, np.minimum(held, most))
        return MAX_SCORE * (counted - LEAST_BYTES) // (most - LEAST_BYTES)


def _images(pod: Pod) -> Iterator[str]:
    """Name every image the pod needs, as often as it needs it."""
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        yield _with_tag(container.image)
    for volume in pod.spec.volumes:
        if volume.image is not None:
            yield _with_tag(volume.image.reference)


def _with_tag(name: str) -> str:
    """Return an image's name as nodes report it; a colon before the last slash belongs to a registry's port."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def _has_image(nodes: Nodes, name: str) -> Mask:
    def read(node: Node) -> bool:
        return any(name in image.names for image in node.status.images)

    return nodes.fact(("image", name), read, bool)
