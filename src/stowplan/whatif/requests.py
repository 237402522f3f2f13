"""Steps and a question as they are written in JSON, read and carried out.

    {"steps": [{"addNodes": {"like": "big-1", "count": 3}}], "question": {"fits": {"pods": [...]}}}

Each step and the question are an object with one key, which says what it is; `docs/whatif.md` has all of them. Objects
of Kubernetes are written as always. What cannot be read ends in a `QuestionError` that names the place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from stowplan.model import decode
from stowplan.model.decode import MalformedObject
from stowplan.model.node import Node
from stowplan.model.pod import Pod, pod_id
from stowplan.whatif import changes
from stowplan.whatif.add_nodes import MOST, Cheapest, cheapest
from stowplan.whatif.changes import MOST_NODES, WantedNodes, add_like
from stowplan.whatif.daemons import for_every_node
from stowplan.whatif.drain import Drain, drain
from stowplan.whatif.fits import Fits, fits
from stowplan.whatif.headroom import DEFAULT_LIMIT, Headroom, MixShare, headroom
from stowplan.whatif.moving import remove_nodes, take_off
from stowplan.whatif.preempt import Preempt, preempt
from stowplan.whatif.world import QuestionError, World, node_of, pod_of

#: Nobody reads more steps, and each takes time.
MOST_STEPS: Final = 10_000


class _Strict(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    pass


class NodeTemplate(_Strict, frozen=True):
    """A node to copy: one of the cluster, or one that is written out."""

    like: str = ""
    shape: dict[str, Any] | None = None

    def template(self, world: World, path: str) -> Node:
        if bool(self.like) == (self.shape is not None):
            raise QuestionError(f"{path}: write either like, the name of a node, or shape, a node")
        if self.shape is None:
            return node_of(world, self.like)
        return read_shape(self.shape, f"{path}.shape")


class MoreNodes(NodeTemplate, frozen=True):
    """Nodes to come."""

    count: int = 1


class PodNames(_Strict, frozen=True):
    """Pods that have a node, as NAMESPACE/NAME."""

    names: tuple[str, ...]


class SomeObjects(_Strict, frozen=True):
    """Objects of Kubernetes, each with its apiVersion and kind."""

    objects: tuple[dict[str, Any], ...]


class Step(_Strict, frozen=True):
    """One thing to suppose."""

    add_nodes: MoreNodes | None = None
    remove_nodes: WantedNodes | None = None
    cordon: WantedNodes | None = None
    drain: WantedNodes | None = None
    remove_pods: PodNames | None = None
    add: SomeObjects | None = None


class FitsQuestion(_Strict, frozen=True):
    """Would these pods fit, and where; of those that do not, `top` are explained, with as many nodes each."""

    pods: tuple[dict[str, Any], ...] = ()
    #: Pods of which one is to be on every node that they are meant for.
    every_node: tuple[dict[str, Any], ...] = ()
    top: int = 5


class ShareOfMix(_Strict, frozen=True):
    """A template, and how many of it are in one round."""

    pod: dict[str, Any]
    count: int = 1


class HeadroomQuestion(_Strict, frozen=True):
    """How many rounds of a mix fit, at most until so many pods are placed."""

    mix: tuple[ShareOfMix, ...]
    limit: int = DEFAULT_LIMIT


class DrainQuestion(WantedNodes, frozen=True):
    """Where everybody goes if nodes are drained, in so many batches."""

    batches: int = 1


class CheapestQuestion(NodeTemplate, frozen=True, kw_only=True):
    """How few nodes like one, or of a shape, make pods fit; searched up to `most`."""

    pods: tuple[dict[str, Any], ...]
    most: int = MOST


class PreemptQuestion(_Strict, frozen=True):
    """Whom a pod would push out."""

    pod: dict[str, Any]


class AskedQuestion(_Strict, frozen=True):
    """What is asked when all steps are done."""

    fits: FitsQuestion | None = None
    headroom: HeadroomQuestion | None = None
    drain: DrainQuestion | None = None
    cheapest: CheapestQuestion | None = None
    preempt: PreemptQuestion | None = None


class WhatIf(_Strict, frozen=True):
    """All that is asked at once."""

    question: AskedQuestion
    steps: tuple[Step, ...] = ()


class WhatIfAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer, under the name of its question, and the plugins and extenders that take no part in it."""

    fits: Fits | msgspec.UnsetType = msgspec.UNSET
    headroom: Headroom | msgspec.UnsetType = msgspec.UNSET
    drain: Drain | msgspec.UnsetType = msgspec.UNSET
    cheapest: Cheapest | msgspec.UnsetType = msgspec.UNSET
    preempt: Preempt | msgspec.UnsetType = msgspec.UNSET
    not_taking_part: tuple[str, ...]


def read(text: bytes | str) -> WhatIf:
    """Read a question; raise QuestionError if it is none."""
    try:
        asked = msgspec.json.decode(text, type=WhatIf)
    except msgspec.ValidationError as error:
        raise QuestionError(f"{error}; see `stowplan manual whatif` for what can be asked") from None
    except msgspec.DecodeError as error:
        raise QuestionError(f"it is no JSON: {error}; see `stowplan manual whatif` for what can be asked") from None
    except RecursionError:
        raise QuestionError("it is nested too deeply; see `stowplan manual whatif` for what can be asked") from None
    if len(asked.steps) > MOST_STEPS:
        raise QuestionError(f"steps: Too many: {len(asked.steps)}: write at most {MOST_STEPS}")
    more = sum(step.add_nodes.count for step in asked.steps if step.add_nodes is not None)
    if more > MOST_NODES:
        raise QuestionError(f"steps: addNodes.count: Invalid value: {more} in all: write at most {MOST_NODES}")
    for number, step in enumerate(asked.steps):
        _only(step, f"steps[{number}]")
    _only(asked.question, "question")
    return asked


def is_short(asked: WhatIf, has_extenders: bool) -> bool:
    """Say whether a question is answered about as fast as a pod is scheduled, wherever it is asked."""
    one = asked.question.fits
    return one is not None and len(one.pods) == 1 and not (one.every_node or asked.steps or has_extenders)


def answer(world: World, asked: WhatIf) -> dict[str, Any]:
    """Carry out the steps, answer the question, and name who had no part in it; nothing is left of it."""
    with world.suppose() as supposed:
        for number, step in enumerate(asked.steps):
            _take(supposed, step, f"steps[{number}]")
        kind = _only(asked.question, "question")
        found = _QUESTIONS[kind](supposed, getattr(asked.question, kind))
    told: dict[str, Any] = msgspec.to_builtins(WhatIfAnswer(**{kind: found}, not_taking_part=world.not_taking_part))
    return told


def read_object(content: Any, path: str) -> Any:
    """Decode an object of Kubernetes."""
    try:
        found = decode.decode_object(content)
    except MalformedObject as error:
        raise QuestionError(f"{path}: {error}") from None
    if isinstance(found, decode.UnknownObject):
        raise QuestionError(f"{path}: scheduling reads no {found.kind} of {found.api_version}; leave it out")
    return found


def read_shape(content: Any, path: str) -> Node:
    """Decode a node that others are to be like."""
    found = read_object(content, path)
    if not isinstance(found, Node):
        raise QuestionError(f"{path}: it is a {type(found).__name__}; write a Node")
    if not found.name:
        raise QuestionError(f"{path}.metadata.name: Required value: give the node a name")
    if not found.status.allocatable:
        # Most likely misspelt, for nobody would fit on it.
        example = "{cpu: 8, pods: 110}"
        raise QuestionError(f"{path}.status.allocatable: Required value: say what it has, such as {example}")
    return found


def read_pods(contents: Iterable[Any], path: str) -> list[Pod]:
    found = [_pod(content, f"{path}[{number}]") for number, content in enumerate(contents)]
    if len({pod.key for pod in found}) != len(found):
        raise QuestionError(f"{path}: two pods have one name; give each a name of its own")
    if len({pod_id(pod) for pod in found}) != len(found):
        raise QuestionError(f"{path}: two pods have one metadata.uid; leave it out, or give each its own")
    return found


def _pod(content: Any, path: str) -> Pod:
    found = read_object({"apiVersion": "v1", "kind": "Pod", **content}, path)
    if not isinstance(found, Pod):
        raise QuestionError(f"{path}: it is a {type(found).__name__}; write a Pod")
    if not found.name:
        raise QuestionError(f"{path}.metadata.name: Required value: give the pod a name")
    if found.spec.node_name or found.is_terminal:
        field = "spec.nodeName" if found.spec.node_name else "status.phase"
        raise QuestionError(f"{path}: pod {found.key!r}: {field}: it has had its turn; leave the field out")
    _check_amounts(found, path)
    return found


def _check_amounts(pod: Pod, path: str) -> None:
    """Refuse what an API server refuses: a pod that takes less than nothing fits anywhere."""
    for field, containers in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers)):
        for number, container in enumerate(containers):
            for name, amount in container.resources.requests.items():
                if amount.sign < 0:
                    place = f"{path}.spec.{field}[{number}].resources.requests[{name}]"
                    raise QuestionError(f'{place}: Invalid value: "{amount}": must be greater than or equal to 0')


def _only(given: msgspec.Struct, path: str) -> str:
    """Return the one thing that is written."""
    names = [name for name in given.__struct_fields__ if getattr(given, name) is not None]
    if len(names) != 1:
        known = ", ".join(given.__struct_encode_fields__)
        raise QuestionError(f"{path}: {len(names)} things are written; write exactly one of: {known}")
    return names[0]


# Steps


def _take(world: World, step: Step, path: str) -> None:
    if step.add_nodes is not None:
        template = step.add_nodes.template(world, f"{path}.addNodes")
        add_like(world, template, step.add_nodes.count)
    if step.remove_nodes is not None:
        remove_nodes(world, step.remove_nodes.find(world))
    if step.cordon is not None:
        changes.cordon(world, step.cordon.find(world))
    if step.drain is not None:
        drain(world, step.drain.find(world))
    for key in dict.fromkeys(step.remove_pods.names) if step.remove_pods is not None else ():
        take_off(world, pod_of(world, key))
    if step.add is not None:
        world.add_all([_addition(one, f"{path}.add.objects[{at}]") for at, one in enumerate(step.add.objects)])


def _addition(content: Any, path: str) -> Any:
    found = read_object(content, path)
    if not found.metadata.name:
        raise QuestionError(f"{path}.metadata.name: Required value: give the object a name")
    if isinstance(found, Pod) and not found.spec.node_name:
        raise QuestionError(f"{path}: pod {found.key!r}: spec.nodeName: Required value: one that waits takes no room")
    return found


# Questions


def _fits(world: World, asked: FitsQuestion) -> Any:
    if asked.top < 1:
        raise QuestionError(f"question.fits.top: Invalid value: {asked.top}: write 1 or more")
    pods = read_pods(asked.pods, "question.fits.pods")
    templates = read_pods(asked.every_node, "question.fits.everyNode")
    return fits(world, [*pods, *(pod for one in templates for pod in for_every_node(world, one))], asked.top)


def _headroom(world: World, asked: HeadroomQuestion) -> Any:
    path = "question.headroom.mix"
    mix = [MixShare(_pod(one.pod, f"{path}[{at}].pod"), one.count) for at, one in enumerate(asked.mix)]
    return headroom(world, mix, asked.limit)


def _drain(world: World, asked: DrainQuestion) -> Any:
    return drain(world, asked.find(world), asked.batches)


def _cheapest(world: World, asked: CheapestQuestion) -> Any:
    pods = read_pods(asked.pods, "question.cheapest.pods")
    return cheapest(world, asked.template(world, "question.cheapest"), pods, asked.most)


def _preempt(world: World, asked: PreemptQuestion) -> Any:
    return preempt(world, _pod(asked.pod, "question.preempt.pod"))


_QUESTIONS: Final[dict[str, Callable[[World, Any], Any]]] = {
    "fits": _fits,
    "headroom": _headroom,
    "drain": _drain,
    "cheapest": _cheapest,
    "preempt": _preempt,
}
