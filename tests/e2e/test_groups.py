"""Groups of pods under 1.37: what the real kube-scheduler makes of them, and Stowplan in its place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e import scenes
from tests.e2e.api import Api, Object
from tests.e2e.group_scenes import GROUP_SCENES, NAMESPACE, GroupScene
from tests.e2e.kubelets import Kubelets
from tests.e2e.listening import is_judged, scout
from tests.e2e.plane import GROUP_GATES, Plane
from tests.e2e.scheduler_process import USER, SchedulerProcess

pytestmark = pytest.mark.only_on("real-1.37", "embedded")

#: A scheduler that has not said anything by then has nothing to say.
SECONDS: Final = 60.0
PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
GROUPS: Final = f"/apis/scheduling.k8s.io/v1beta1/namespaces/{NAMESPACE}/podgroups"
EVENTS: Final = f"/api/v1/namespaces/{NAMESPACE}/events"
# With more workers, kube-scheduler's choice between equals is a matter of luck.
ONE_WORKER: Final[dict[str, Any]] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 1,
}
PROGRAMS: Final[dict[str, Callable[[Plane], Sequence[str | Path]]]] = {
    "kube-scheduler": lambda plane: [plane.binaries / "kube-scheduler"],
    "stowplan": lambda _: [sys.executable, "-m", "stowplan", "run"],
}


@dataclass(frozen=True)
class Told:
    """What can be read when the scheduler has had its say: of pods, of groups, of both as events."""

    #: By pod: the node, the nominated one, whether it is on its way out, and its conditions.
    pods: dict[str, tuple[str, str, bool, list[tuple[str, ...]]]]
    groups: dict[str, list[tuple[str, ...]]]
    events: frozenset[tuple[str, ...]]


#: By scene; an error says what was waited for in vain.
Outcomes = dict[str, Told | TimeoutError]


@pytest.mark.parametrize("scene", GROUP_SCENES, ids=lambda scene: scene.name)
def test_the_same_becomes_of_a_group(scene: GroupScene, told: tuple[Outcomes, Outcomes]) -> None:
    theirs, ours = (by_scene[scene.name] for by_scene in told)

    assert scene.says in str(theirs)
    assert ours == theirs


@pytest.fixture(scope="module")
def told(plane: Plane) -> Iterator[tuple[Outcomes, Outcomes]]:
    """What becomes of each scene under kube-scheduler, and under Stowplan."""
    with plane.groups():
        plane.create_namespace(NAMESPACE)
        plane.api.create(scenes.CLASSES[0])
        kubelets = Kubelets(plane.api)
        kubelets.start()
        try:
            yield tell_all(plane, kubelets, "kube-scheduler"), tell_all(plane, kubelets, "stowplan")
        finally:
            kubelets.stop()
            plane.api.delete(plane.api.path_of(scenes.CLASSES[0]))


def tell_all(plane: Plane, kubelets: Kubelets, name: str) -> Outcomes:
    program = [*PROGRAMS[name](plane), GROUP_GATES]
    scheduler = SchedulerProcess(plane, f"{name}-of-groups", program, plane.user_kubeconfig(USER), ONE_WORKER)
    found: Outcomes = {}
    try:
        scheduler.start()
        for scene in GROUP_SCENES:
            try:
                found[scene.name] = tell(plane.api, kubelets, scene)
            except TimeoutError as error:
                # The other scenes still have something to show.
                found[scene.name] = error
        return found
    finally:
        scheduler.stop()


def tell(api: Api, kubelets: Kubelets, scene: GroupScene) -> Told:
    try:
        _set_up(api, kubelets, scene)
        for group in scene.groups:
            api.create(group)
        for pod in scene.pods:
            # One after the other, because members are taken in the order of their coming.
            api.create(pod)
        for pod in scene.pods:
            api.wait_for(f"{PODS}/{pod['metadata']['name']}", is_judged, SECONDS)
        for group in scene.groups:
            api.wait_for(f"{GROUPS}/{group['metadata']['name']}", lambda item: bool(_conditions(item)), SECONDS)
        return _read(api, scene)
    finally:
        _clear_up(api, kubelets, scene)


def _set_up(api: Api, kubelets: Kubelets, scene: GroupScene) -> None:
    for node in scene.nodes:
        kubelets.register([node])
    api.create_all(scene.running_groups)
    for pod in scene.running:
        api.create(pod)
    for pod in scene.running:
        api.wait_for(f"{PODS}/{pod['metadata']['name']}", lambda item: item["status"]["phase"] == "Running")
    scout(api, scene.nodes[-1], NAMESPACE)


def _read(api: Api, scene: GroupScene) -> Told:
    """Read what there is when each pod that came or is to leave has an event, and those that have a node run."""
    names = {pod["metadata"]["name"] for pod in scene.pods}
    for name in scene.leaving:
        api.wait_for(f"{PODS}/{name}", lambda item: "deletionTimestamp" in item["metadata"], SECONDS)
    expected = names | set(scene.leaving)
    api.wait_for(
        EVENTS, lambda listed: expected <= {event["involvedObject"]["name"] for event in listed["items"]}, SECONDS
    )
    pods = api.wait_for(PODS, lambda listed: all(map(_is_at_rest, listed["items"])))["items"]
    groups = api.items(GROUPS)
    uids = {each["metadata"]["uid"]: each["metadata"]["name"] for each in (*pods, *groups)}
    about = {*names, *(each["metadata"]["name"] for each in (*scene.running, *scene.groups, *scene.running_groups))}
    return Told(
        {
            pod["metadata"]["name"]: (
                pod["spec"].get("nodeName", ""),
                pod["status"].get("nominatedNodeName", ""),
                "deletionTimestamp" in pod["metadata"],
                _conditions(pod, uids),
            )
            for pod in pods
            if pod["metadata"]["name"] in about
        },
        {group["metadata"]["name"]: _conditions(group, uids) for group in groups},
        frozenset(
            (
                event["involvedObject"]["kind"],
                event["involvedObject"]["name"],
                *(_named(event[field], uids) for field in ("type", "reason", "message")),
            )
            for event in api.items(EVENTS)
            if event["involvedObject"]["name"] in about
        ),
    )


def _conditions(item: Object, uids: dict[str, str] | None = None) -> list[tuple[str, ...]]:
    found = item.get("status", {}).get("conditions", ())
    return sorted(
        tuple(_named(each.get(field, ""), uids or {}) for field in ("type", "status", "reason", "message"))
        for each in found
    )


def _named(text: str, uids: dict[str, str]) -> str:
    """Put names in the place of what is drawn anew each time."""
    for uid, name in uids.items():
        text = text.replace(uid, f"the uid of {name}")
    return text


def _is_at_rest(pod: Object) -> bool:
    return not pod["spec"].get("nodeName") or pod["status"]["phase"] == "Running"


def _clear_up(api: Api, kubelets: Kubelets, scene: GroupScene) -> None:
    for pod in api.items(PODS):
        if pod["metadata"].get("finalizers"):
            api.patch(f"{PODS}/{pod['metadata']['name']}", {"metadata": {"finalizers": None}})
    kubelets.clear()
    for path in (GROUPS, EVENTS):
        api.delete(path)
    for group in api.items(GROUPS):
        # Somebody may hold it back for its pods, which are gone.
        api.patch(f"{GROUPS}/{group['metadata']['name']}", {"metadata": {"finalizers": None}})
