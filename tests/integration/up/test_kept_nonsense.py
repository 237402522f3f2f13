"""A cluster that an older release kept, with objects that nobody would take today: it comes up, and the others work."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stowplan.embedded.controllers import bootstrap
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.persistence import Database
from stowplan.embedded.storage.store import Store
from tests.integration.up.up_process import Up, running

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
EVENTS = "/api/v1/namespaces/default/events"
PODS = "/api/v1/namespaces/default/pods"
LABELS = {"app": "web"}
POD_SPEC = {"containers": [{"name": "c", "image": "i"}]}


def keep(folder: Path, *objects: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Write objects down; some of their parts are put there past everybody who would refuse them."""
    database = Database(folder)
    api = Api(Store(database), Catalogue(), lambda: datetime.now(UTC), random.Random(1).getrandbits)
    bootstrap.ensure(api)
    for obj, odd in objects:
        resource = api.catalogue.of_kind(obj["apiVersion"], obj["kind"])
        assert resource is not None
        made = api.create(resource, obj["metadata"].get("namespace", ""), obj)
        for part, value in odd.items():
            made[part] = {**made.get(part, {}), **value}
        api.store.write(resource, made)
    database.close()


def node(name: str) -> dict[str, Any]:
    amounts = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    status = {"capacity": amounts, "allocatable": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def pod(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": POD_SPEC}


def deployment() -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": POD_SPEC}
    spec = {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": template}
    metadata = {"name": "web", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def running_pods(up: Up) -> int:
    found = up.get(f"{PODS}?labelSelector=app%3Dweb")["items"]
    return sum(one["status"].get("phase") == "Running" for one in found)


def test_objects_that_cannot_be_read_stop_nobody_else(tmp_path: Path) -> None:
    keep(
        tmp_path / "data",
        (node("n1"), {}),
        (node("odd"), {"status": {"addresses": "here"}}),
        (pod("odd-1"), {"spec": {"tolerations": "all"}}),
        (pod("odd-2"), {"spec": {"containers": [7]}}),
        (pod("odd-3"), {"spec": {"priority": "high"}}),
        (deployment(), {"status": {"conditions": [{"status": "True"}]}}),
    )
    with running(tmp_path, "--data", "data") as up:
        up.until(lambda: running_pods(up) == 1)
        scaled = [{"op": "replace", "path": "/spec/replicas", "value": 3}]
        headers = {"Content-Type": "application/json-patch+json"}
        assert up.send("PATCH", f"{DEPLOYMENTS}/web", scaled, **headers)[0] == 200
        up.until(lambda: running_pods(up) == 3)
        failed = {
            event["involvedObject"]["name"] for event in up.get(EVENTS)["items"] if event["reason"] == "FailedSync"
        }
        assert {"odd-1", "odd"} <= failed
        assert up.end()[0] == 0
