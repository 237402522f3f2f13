"""The real kube-scheduler and Stowplan, one after the other, on the same cluster: the same nodes, the same words."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pytest

from tests.e2e import claim_families, families, scenes
from tests.e2e.api import Api, ApiError, Object
from tests.e2e.device_scenes import DEVICE_SCENES
from tests.e2e.families import is_gated
from tests.e2e.kubelets import Kubelets
from tests.e2e.listening import Said, listen
from tests.e2e.plane import Plane
from tests.e2e.scenes import WANTED, Scene
from tests.e2e.scheduler_process import USER, SchedulerProcess, kube_scheduler, stowplan
from tests.e2e.stage import Stage
from tests.e2e.storekeeper import Storekeeper
from tests.e2e.volume_scenes import VOLUME_SCENES
from tests.limits import LIMIT_SECONDS

pytestmark = pytest.mark.each_release

Heard = dict[str, dict[str, Said]]

SCENES: Final = (*scenes.SCENES, *VOLUME_SCENES, *DEVICE_SCENES)

# With more workers, kube-scheduler's choice between equals is a matter of luck.
ONE_WORKER: Final[dict[str, Any]] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 1,
    "clientConnection": {"qps": 1000, "burst": 1000},
}


def test_the_same_200_pods_land_on_the_same_nodes(plane: Plane, kubelets: Kubelets, namespace: str) -> None:
    with created(plane.api, families.surroundings(namespace)):
        theirs = landing(plane, kubelets, namespace, reading_in_order(plane))
        ours = landing(plane, kubelets, namespace, stowplan(plane, ONE_WORKER, "stowplan-parity"))

    assert len(theirs) == 200
    assert ours == theirs


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_the_same_is_said_of_a_pod(scene: Scene, heard: tuple[Heard, Heard]) -> None:
    theirs, ours = (by_scene[scene.name] for by_scene in heard)

    assert scene.says in str(theirs[WANTED])
    assert ours == theirs


@pytest.fixture(scope="module")
def heard(plane: Plane) -> tuple[Heard, Heard]:
    """What kube-scheduler and Stowplan say in each of the scenes."""
    plane.create_namespace(scenes.NAMESPACE)
    kubelets = Kubelets(plane.api)
    kubelets.start()
    try:
        with created(plane.api, scenes.CLASSES):
            theirs = hear_all(plane, kubelets, kube_scheduler(plane))
            return theirs, hear_all(plane, kubelets, stowplan(plane))
    finally:
        kubelets.stop()


def hear_all(plane: Plane, kubelets: Kubelets, scheduler: SchedulerProcess) -> Heard:
    stage = Stage(plane.api, scenes.NAMESPACE)
    try:
        stage.put(item for scene in SCENES for item in scene.objects)
        with running(scheduler):
            return {scene.name: listen(plane, kubelets, scene, scheduler) for scene in SCENES}
    finally:
        stage.clear()


def reading_in_order(plane: Plane) -> SchedulerProcess:
    """Return a kube-scheduler that takes in a list as it is: streamed, it would come out of a map in any order."""
    program = [str(plane.binaries / "kube-scheduler"), "--feature-gates=WatchListClient=false"]
    return SchedulerProcess(plane, "kube-scheduler-parity", program, plane.user_kubeconfig(USER), ONE_WORKER)


def landing(plane: Plane, kubelets: Kubelets, namespace: str, scheduler: SchedulerProcess) -> dict[str, str]:
    """Return where a scheduler puts the pods of the manifest; the cluster is empty afterwards."""
    stage = Stage(plane.api, namespace)
    try:
        stage.put(claim_families.objects(namespace))
        return land(plane, kubelets, namespace, scheduler)
    finally:
        kubelets.clear()
        stage.clear()


def land(plane: Plane, kubelets: Kubelets, namespace: str, scheduler: SchedulerProcess) -> dict[str, str]:
    """Apply the manifest, let a scheduler place what is not gated, then the rest one by one; return the nodes."""
    pods, path = families.pods(namespace), f"/api/v1/namespaces/{namespace}/pods"
    for node in families.nodes():
        kubelets.register([node])
    for pod in pods:
        plane.api.run(create_once_admitted(plane.api, pod))
    with attended_volumes(plane.api, namespace), running(scheduler):
        plane.api.wait_for(path, lambda found: all(is_gated(item) or is_placed(item) for item in found["items"]))
        for name in (pod["metadata"]["name"] for pod in pods if is_gated(pod)):
            plane.api.patch(f"{path}/{name}", {"spec": {"schedulingGates": None}})
            plane.api.wait_for(f"{path}/{name}", is_placed)
    return {item["metadata"]["name"]: item["spec"]["nodeName"] for item in plane.api.items(path)}


@contextmanager
def attended_volumes(api: Api, namespace: str) -> Iterator[None]:
    """Have somebody look after volumes; no controllers run, which would look after pods too."""
    storekeeper = Storekeeper(api, namespace)
    storekeeper.make_claims()
    storekeeper.start()
    try:
        yield
    finally:
        storekeeper.stop()


@contextmanager
def running(scheduler: SchedulerProcess) -> Iterator[None]:
    try:
        scheduler.start()
        yield
    finally:
        scheduler.stop()


@contextmanager
def created(api: Api, objects: Sequence[Object]) -> Iterator[None]:
    """Create objects, and delete those of them that no namespace takes with it."""
    try:
        api.create_all(objects)
        yield
    finally:
        for item in objects:
            if "namespace" not in item["metadata"]:
                api.delete(api.path_of(item))


async def create_once_admitted(api: Api, pod: Object) -> None:
    """Create a pod as soon as admission has heard of the classes it names."""
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            try:
                await api.call("POST", path, pod)
            except ApiError as error:
                if error.status != 403:
                    raise
                await asyncio.sleep(0.1)
            else:
                return


def is_placed(item: Object) -> bool:
    return bool(item["spec"].get("nodeName"))
