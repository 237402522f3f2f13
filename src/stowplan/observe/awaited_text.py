"""What a plugin waits for, in words: `Node: added, allocatable changed`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from stowplan.framework.changes import ANYTHING, Action
from stowplan.framework.contract import Awaited

_WORDS: Final[Mapping[Action, str]] = MappingProxyType(
    {
        Action.ADD: "added",
        Action.DELETE: "deleted",
        Action.UPDATE_NODE_ALLOCATABLE: "allocatable changed",
        Action.UPDATE_NODE_LABEL: "labels changed",
        Action.UPDATE_NODE_TAINT: "taints changed or uncordoned",
        Action.UPDATE_NODE_CONDITION: "conditions changed",
        Action.UPDATE_NODE_ANNOTATION: "annotations changed",
        Action.UPDATE_NODE_DECLARED_FEATURE: "declared features changed",
        Action.UPDATE_POD_LABEL: "labels changed",
        Action.UPDATE_POD_SCALE_DOWN: "requests less",
        Action.UPDATE_POD_TOLERATION: "tolerates more",
        Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "last gate taken away",
        Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "resource claims made",
    }
)


def spell(awaited: Iterable[Awaited]) -> tuple[str, ...]:
    """Say what is awaited, one text for each resource."""
    actions: dict[str, Action] = {}
    for one in awaited:
        actions[one.resource] = actions.get(one.resource, Action(0)) | one.actions
    return tuple(_spell(resource, found) for resource, found in actions.items())


def _spell(resource: str, actions: Action) -> str:
    if resource == ANYTHING:
        return "anything"
    if Action.ALL in actions:
        return f"{resource}: any change"
    words = []
    if Action.UPDATE in actions:
        words, actions = ["changed"], actions & ~Action.UPDATE
    words = [word for action, word in _WORDS.items() if action in actions] + words
    return f"{resource}: {', '.join(dict.fromkeys(words))}"
