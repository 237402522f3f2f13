"""What volumes, storage classes and claims for devices are filled in with, and what makes them invalid."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.admission.doorstep import change, create, new_api, refusal_of_change, refusal_of_new
from tests.unit.embedded.given import resource

VOLUMES = resource("persistentvolumes")
CLASSES = resource("storageclasses.storage.k8s.io")
CLAIMS = resource("resourceclaims.resource.k8s.io")
TEMPLATES = resource("resourceclaimtemplates.resource.k8s.io")
SLICES = resource("resourceslices.resource.k8s.io")
EXACT: Object = {"deviceClassName": "gpu"}


def asking(*requests: Object, **more: Any) -> Object:
    return {"devices": {"requests": list(requests), **more}}


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param(
            {"name": "a", "exactly": {"deviceClassName": "gpu"}},
            {"name": "a", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}},
            id="one device",
        ),
        pytest.param(
            {"name": "a", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}},
            {"name": "a", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}},
            id="all of them",
        ),
        pytest.param(
            {"name": "a", "firstAvailable": [{"name": "b", "deviceClassName": "gpu", "tolerations": [{"key": "k"}]}]},
            {
                "name": "a",
                "firstAvailable": [
                    {
                        "name": "b",
                        "deviceClassName": "gpu",
                        "allocationMode": "ExactCount",
                        "count": 1,
                        "tolerations": [{"key": "k", "operator": "Equal"}],
                    }
                ],
            },
            id="one of an alternative",
        ),
    ],
)
def test_a_request_asks_for_one_device_unless_it_says_otherwise(request_: Object, expected: Object) -> None:
    claim = create(new_api(), CLAIMS, {"metadata": {"name": "c"}, "spec": asking(request_)})
    assert claim["spec"] == {"devices": {"requests": [expected]}}
    template = {"metadata": {"name": "c"}, "spec": {"spec": asking(request_)}}
    assert create(new_api(), TEMPLATES, template)["spec"]["spec"] == {"devices": {"requests": [expected]}}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(
            asking({"name": "a"}),
            "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
            id="neither one nor several ways",
        ),
        pytest.param(
            asking({"name": "a", "exactly": EXACT}, {"name": "a", "exactly": EXACT}),
            'spec.devices.requests[1].name: Duplicate value: "a"',
            id="two requests of a name",
        ),
        pytest.param(
            asking({"exactly": {}}),
            "[spec.devices.requests[0].name: Required value, "
            "spec.devices.requests[0].exactly.deviceClassName: Required value]",
            id="neither name nor class",
        ),
        pytest.param(
            asking({"name": "a", "exactly": {**EXACT, "count": 0}}),
            "spec.devices.requests[0].exactly.count: Invalid value: 0: must be greater than zero",
            id="no device",
        ),
        pytest.param(
            asking({"name": "a", "exactly": {**EXACT, "allocationMode": "All", "count": 2}}),
            "spec.devices.requests[0].exactly.count: Invalid value: 2: "
            "must not be specified when allocationMode is 'All'",
            id="all and two",
        ),
        pytest.param(
            asking({"name": "a", "exactly": {**EXACT, "allocationMode": "Some"}}),
            'spec.devices.requests[0].exactly.allocationMode: Unsupported value: "Some": '
            'supported values: "All", "ExactCount"',
            id="an unknown mode",
        ),
        pytest.param(
            asking({"name": "a", "exactly": EXACT}, constraints=[{"requests": ["b"], "matchAttribute": "x/y"}]),
            'spec.devices.constraints[0].requests[0]: Invalid value: "b": must be the name of a request in the claim '
            "or the name of a request and a subrequest separated by '/'",
            id="a constraint on an unknown request",
        ),
    ],
)
def test_what_a_claim_for_devices_cannot_ask(spec: Object, problem: str) -> None:
    error = refusal_of_new(new_api(), CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
    assert error.message == f'ResourceClaim.resource.k8s.io "c" is invalid: {problem}'


def test_what_a_claim_asks_for_cannot_change() -> None:
    api = new_api()
    claim = create(api, CLAIMS, {"metadata": {"name": "c"}, "spec": asking({"name": "a", "exactly": EXACT})})
    claim["spec"]["devices"]["requests"][0]["name"] = "b"
    with pytest.raises(StatusError, match=r"spec: Invalid value: .*: field is immutable"):
        api.update(CLAIMS, "default", "c", claim)


GIVEN: Object = {"request": "a", "driver": "gpu.example.com", "pool": "rack/a", "device": "gpu-0"}


def giving(*results: Object, **more: Any) -> Object:
    return {"allocation": {"devices": {"results": list(results)}, **more}}


def settings(*config: Object) -> Object:
    return {"allocation": {"devices": {"results": [GIVEN], "config": list(config)}}}


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        pytest.param(
            giving(GIVEN, nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": ""}]}]}),
            "status.allocation.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "
            '"": not a valid selector operator',
            id="from nodes that no selector selects",
        ),
        pytest.param(
            giving(GIVEN, nodeSelector={}),
            "status.allocation.nodeSelector.nodeSelectorTerms: Required value: "
            "must have at least one node selector term",
            id="from no nodes",
        ),
        pytest.param(
            giving(GIVEN | {"request": "b"}),
            'status.allocation.devices.results[0].request: Invalid value: "b": must be the name of a request in the '
            "claim or the name of a request and a subrequest separated by '/'",
            id="for what is not asked",
        ),
        pytest.param(
            giving({"request": "a", "device": "gpu-0"}),
            "[status.allocation.devices.results[0].driver: Required value, "
            "status.allocation.devices.results[0].pool: Required value]",
            id="by nobody",
        ),
        pytest.param(
            giving(*([GIVEN] * 33)),
            "status.allocation.devices.results: Too many: 33: must have at most 32 items",
            id="more than a claim can have",
        ),
        pytest.param(
            settings({"source": "FromTheSky", "opaque": {"driver": "gpu.example.com", "parameters": {}}}),
            'status.allocation.devices.config[0].source: Unsupported value: "FromTheSky": '
            'supported values: "FromClaim", "FromClass"',
            id="set up by an unknown source",
        ),
        pytest.param(
            settings({"source": "FromClass"}),
            "status.allocation.devices.config[0].opaque: Required value",
            id="set up with nothing",
        ),
        pytest.param(
            giving(GIVEN) | {"reservedFor": [{"resource": "pods", "uid": "1"}]},
            "status.reservedFor[0].name: Required value",
            id="to a pod without a name",
        ),
    ],
)
def test_what_a_claim_cannot_be_given(status: Object, problem: str) -> None:
    api = new_api()
    create(api, CLAIMS, {"metadata": {"name": "c"}, "spec": asking({"name": "a", "exactly": EXACT})})
    error = refusal_of_change(api, CLAIMS, "c", {"status": status}, "status")
    assert error.message == f'ResourceClaim.resource.k8s.io "c" is invalid: {problem}'


def test_what_a_claim_has_been_given_is_not_looked_at_again() -> None:
    api = new_api()
    create(api, CLAIMS, {"metadata": {"name": "c"}, "spec": asking({"name": "a", "exactly": EXACT})})
    change(api, CLAIMS, "c", {"status": giving(GIVEN)}, "status")
    consumers = [{"resource": "pods", "name": "p", "uid": "1"}]
    assert change(api, CLAIMS, "c", {"status": {"reservedFor": consumers}}, "status")["status"] == {
        **giving(GIVEN),
        "reservedFor": consumers,
    }


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(
            {"driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}},
            "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is "
            "required",
            id="nowhere",
        ),
        pytest.param(
            {"driver": "d", "pool": {"name": "p"}, "nodeName": "n"},
            "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
            id="of no slices",
        ),
        pytest.param(
            {
                "driver": "d",
                "pool": {"name": "p", "resourceSliceCount": 1},
                "nodeName": "n",
                "devices": [{"name": "a"}, {"name": "a"}],
            },
            'spec.devices[1].name: Duplicate value: "a"',
            id="two devices of a name",
        ),
    ],
)
def test_what_a_slice_of_devices_cannot_be(spec: Object, problem: str) -> None:
    error = refusal_of_new(new_api(), SLICES, {"metadata": {"name": "s"}, "spec": spec})
    assert error.message == f'ResourceSlice.resource.k8s.io "s" is invalid: {problem}'


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"accessModes": None}, "spec.accessModes: Required value", id="no access mode"),
        pytest.param({"capacity": None}, "spec.capacity: Required value", id="no size"),
        pytest.param({"hostPath": None}, "spec: Required value: must specify a volume type", id="no source"),
        pytest.param(
            {"nfs": {"server": "s", "path": "/"}},
            "spec.nfs: Forbidden: may not specify more than 1 volume type",
            id="two sources",
        ),
        pytest.param(
            {"hostPath": None, "local": {"path": "/a"}},
            "spec.nodeAffinity: Required value: Local volume requires node affinity",
            id="local, but nowhere",
        ),
    ],
)
def test_what_a_volume_cannot_be(changes: dict[str, Any], problem: str) -> None:
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}} | changes
    written = {key: value for key, value in spec.items() if value is not None}
    error = refusal_of_new(new_api(), VOLUMES, {"metadata": {"name": "v"}, "spec": written})
    assert error.message == f'PersistentVolume "v" is invalid: {problem}'


def test_a_class_keeps_its_provisioner() -> None:
    api = new_api()
    assert refusal_of_new(api, CLASSES, {"metadata": {"name": "c"}}).message == (
        'StorageClass.storage.k8s.io "c" is invalid: provisioner: Required value'
    )
    made = create(api, CLASSES, {"metadata": {"name": "c"}, "provisioner": "a"})
    with pytest.raises(StatusError, match="provisioner: Invalid value: null: field is immutable"):
        api.update(CLASSES, "", "c", made | {"provisioner": "b"})


ZONE: Object = {"key": "zone", "values": ["a"]}


@pytest.mark.parametrize(
    ("expressions", "refused"),
    [
        pytest.param([[ZONE], [ZONE | {"values": ["b"]}]], None, id="two zones"),
        pytest.param(
            [[ZONE], []],
            'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
            id="a term without expressions",
        ),
        pytest.param(
            [[ZONE], [ZONE]], 'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""', id="the same twice"
        ),
        pytest.param(
            [[{"key": "zone", "values": []}]],
            "allowedTopologies[0].matchLabelExpressions[0].values: Required value",
            id="no values",
        ),
        pytest.param(
            [[{"key": "zone", "values": ["a", "a"]}]],
            'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
            id="a value twice",
        ),
        pytest.param(
            [[ZONE, ZONE]],
            'allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "zone"',
            id="a key twice",
        ),
        pytest.param(
            [[{"values": ["a"]}]],
            'allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: "": name part must be non-empty',
            id="no key",
        ),
    ],
)
def test_a_class_says_whole_where_its_volumes_may_be(expressions: list[list[Object]], refused: str | None) -> None:
    topologies = [{"matchLabelExpressions": each} for each in expressions]
    new = {"metadata": {"name": "c"}, "provisioner": "p", "allowedTopologies": topologies}
    if refused is None:
        assert create(new_api(), CLASSES, new)["allowedTopologies"] == topologies
    else:
        assert refused in refusal_of_new(new_api(), CLASSES, new).message


def test_of_several_default_classes_the_youngest_counts_and_of_equal_age_the_first_by_name() -> None:
    api = new_api()
    marked = {"storageclass.kubernetes.io/is-default-class": "true"}
    for name in ("b", "a", "c"):
        create(api, CLASSES, {"metadata": {"name": name, "annotations": marked}, "provisioner": "p"})
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = create(api, resource("persistentvolumeclaims"), {"metadata": {"name": "d"}, "spec": wanted})
    assert claim["spec"]["storageClassName"] == "a"
