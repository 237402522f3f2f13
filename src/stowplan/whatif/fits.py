"""Would these pods fit, and where; if not, every reason and the nearest miss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stowplan.engine.failure import Chosen
from stowplan.model.pod import Pod
from stowplan.observe.explanation import summary
from stowplan.whatif.world import QuestionError, TriedPod, World


class PlacedOrNot(msgspec.Struct, frozen=True, rename="camel"):
    """Where a pod would go, or what is said if nowhere."""

    pod: str
    node: str | None
    message: str = ""


class Fits(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer: `fits` if every pod finds a node. Of pods that are refused alike, one is explained."""

    fits: bool
    placed: int
    pods: list[PlacedOrNot]
    explanations: list[dict[str, Any]] = []


def fits(world: World, pods: Sequence[Pod], top: int = 5) -> Fits:
    """Place pods, and say where each went; nothing is evicted for them."""
    if not pods:
        raise QuestionError("there is no pod to ask about; give pods, or a workload that makes some")
    outcomes = try_new(world, pods)
    answers = [of_outcome(one) for one in outcomes]
    # With the others placed: what is missing for the rest.
    refused = {answer.message: one.pod for answer, one in zip(answers, outcomes, strict=True) if answer.node is None}
    told = [summary(world.explain(pod), top) for pod in list(refused.values())[:top]]
    placed = sum(answer.node is not None for answer in answers)
    return Fits(fits=placed == len(answers), placed=placed, pods=answers, explanations=told)


def try_new(world: World, pods: Sequence[Pod]) -> Sequence[TriedPod]:
    """Place pods that are not there yet; raise QuestionError if one is, or if nobody is responsible for it."""
    for pod in pods:
        placed = world.cache.placed(pod)
        if placed is not None:
            problem = f"has a node already, {placed.node_name!r}"
            raise QuestionError(f"pod {pod.key!r} {problem}; give it another name, or suppose that it goes first")
        check_profile(world, pod)
    world.add_all(pods)
    return world.try_all(pods)


def check_profile(world: World, pod: Pod) -> None:
    """Raise QuestionError if nobody here is responsible for a pod."""
    if pod.spec.scheduler_name not in world.profiles:
        known = ", ".join(sorted(world.profiles))
        problem = f"spec.schedulerName: no profile {pod.spec.scheduler_name!r}"
        raise QuestionError(f"pod {pod.key!r}: {problem}; the profiles are: {known}")


def of_outcome(outcome: TriedPod) -> PlacedOrNot:
    if isinstance(outcome, Chosen):
        return PlacedOrNot(outcome.pod.key, outcome.node_name)
    return PlacedOrNot(outcome.pod.key, None, str(getattr(outcome, "message", "")))
