"""Text that would be an element, and do something, wherever a page took it for markup; and a plugin that says it.

Kubernetes lets no name be like that, but much of what a page shows is no name: reasons of plugins, messages of
conditions, arguments of containers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from stowplan.framework import Filter, Nodes, Reject, reject
from stowplan.model.pod import Pod

MARKUP: Final = "<img src=x onerror=\"document.title='run'\">"
#: Pods with this label are refused in those words.
LABEL: Final = "example.com/markup"


class Markup(Filter):
    looks_at_rows_alone = True
    looks_at_pods = False

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        if LABEL in pod.metadata.labels:
            yield reject(np.ones(len(nodes), dtype=bool), MARKUP)
