"""The selector that services and controllers imply for a pod of app=web, rev=1 in namespace "shop"."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.cache.objects import Objects
from stowplan.model.kinds import (
    ReplicaSet,
    ReplicationController,
    ReplicationControllerSpec,
    Service,
    ServiceSpec,
    SetSpec,
    StatefulSet,
)
from stowplan.model.meta import LabelSelector, LabelSelectorRequirement, NamespacedMeta, OwnerReference
from stowplan.model.pod import Pod
from stowplan.plugins.podtopologyspread.constraints import default_selector
from stowplan.table.journal import Reads


def meta(name: str, namespace: str = "shop") -> NamespacedMeta:
    return NamespacedMeta(name=name, namespace=namespace)


def service(namespace: str = "shop", **selector: str) -> Service:
    return Service(metadata=meta("-".join(selector), namespace), spec=ServiceSpec(selector=selector))


def controller(**selector: str) -> ReplicationController:
    return ReplicationController(metadata=meta("owner"), spec=ReplicationControllerSpec(selector=selector))


def selecting(operator: str, *values: str) -> SetSpec:
    expression = LabelSelectorRequirement(key="rev", operator=operator, values=values)
    return SetSpec(selector=LabelSelector(match_expressions=(expression,)))


def replica_set(spec: SetSpec) -> ReplicaSet:
    return ReplicaSet(metadata=meta("owner"), spec=spec)


def owned_by(kind: str, api_version: str = "apps/v1", **fields: Any) -> Pod:
    owner = OwnerReference(kind=kind, api_version=api_version, name="owner", **{"controller": True, **fields})
    labels = {"app": "web", "rev": "1"}
    return Pod(metadata=NamespacedMeta(name="web-1", namespace="shop", labels=labels, owner_references=(owner,)))


NOBODYS = owned_by("ReplicaSet", controller=False)
OWNED = owned_by("ReplicaSet")


@pytest.mark.parametrize(
    ("pod", "objects", "expected"),
    [
        pytest.param(NOBODYS, [], "", id="nobody selects the pod"),
        pytest.param(NOBODYS, [service(app="web")], "app=web", id="a service"),
        pytest.param(NOBODYS, [service(app="web"), service(rev="1")], "app=web,rev=1", id="two services"),
        pytest.param(NOBODYS, [service(app="db")], "", id="not a service of other pods"),
        pytest.param(NOBODYS, [service(namespace="other", app="web")], "", id="not a service of another namespace"),
        pytest.param(NOBODYS, [service()], "", id="not a service without a selector"),
        pytest.param(NOBODYS, [replica_set(selecting("Exists"))], "", id="not an owner that does not control"),
        pytest.param(OWNED, [replica_set(selecting("In", "1", "2"))], "rev in (1,2)", id="a replica set"),
        pytest.param(
            OWNED,
            [service(app="web"), replica_set(selecting("Exists"))],
            "app=web,rev",
            id="a service and a replica set",
        ),
        pytest.param(OWNED, [], "", id="a replica set that is not there"),
        pytest.param(OWNED, [replica_set(SetSpec())], "", id="a replica set without a selector"),
        pytest.param(OWNED, [replica_set(selecting("Near"))], "", id="a replica set with an invalid selector"),
        pytest.param(
            owned_by("StatefulSet"),
            [StatefulSet(metadata=meta("owner"), spec=selecting("Exists"))],
            "rev",
            id="a stateful set",
        ),
        pytest.param(
            owned_by("ReplicationController", "v1"), [controller(app="web")], "app=web", id="a replication controller"
        ),
        pytest.param(
            owned_by("ReplicationController", "v1"),
            [service(app="web"), controller(app="shop")],
            "app=shop",
            id="a replication controller has the last word on a label",
        ),
        pytest.param(
            owned_by("ReplicaSet", "extensions/v1beta1"),
            [replica_set(selecting("Exists"))],
            "",
            id="not a controller of another API group",
        ),
    ],
)
def test_default_selector(pod: Pod, objects: list[Any], expected: str) -> None:
    listers = Objects(Reads())
    for found in objects:
        listers.put(found)
    selector = default_selector(pod, listers)
    assert str(selector) == expected
    assert selector.is_everything is (expected == "")
