"""Objects of the wrong form are refused in Go's words; the rest is brought into the usual form."""

from __future__ import annotations

import pytest

from stowplan.embedded.admission import shapes
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from tests import nonsense
from tests.unit.embedded.admission.doorstep import create, new_api, pod, refusal_of_new
from tests.unit.embedded.given import DEPLOYMENTS, NODES, PODS, resource

LEASES = resource("leases.coordination.k8s.io")
SECRETS = resource("secrets")
SERVICES = resource("services")
WIDGETS = Resource("example.com", "v1", "Widget", "widgets", "widget", is_custom=True)


def with_spec(**spec: object) -> Object:
    return {"metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    ("of", "obj", "problem"),
    [
        pytest.param(
            PODS,
            with_spec(containers="x"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container",
            id="a text where a list belongs",
        ),
        pytest.param(
            PODS,
            with_spec(containers=["x"]),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container",
            id="a text in a list of structs",
        ),
        pytest.param(
            PODS,
            {"spec": []},
            "json: cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec",
            id="a list where a struct belongs",
        ),
        pytest.param(
            PODS,
            {"metadata": {"labels": {"a": 1}}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
            id="a number in a map of texts",
        ),
        pytest.param(
            PODS,
            with_spec(containers=[{"ports": [{"containerPort": 1.5}]}]),
            "json: cannot unmarshal number 1.5 into Go struct field "
            "ContainerPort.spec.containers.ports.containerPort of type int32",
            id="half a port",
        ),
        pytest.param(
            PODS,
            with_spec(containers=[{"ports": [{"containerPort": 99999999999}]}]),
            "json: cannot unmarshal number 99999999999 into Go struct field "
            "ContainerPort.spec.containers.ports.containerPort of type int32",
            id="a number beyond 32 bits",
        ),
        pytest.param(
            PODS,
            with_spec(priority=True),
            "json: cannot unmarshal bool into Go struct field PodSpec.spec.priority of type int32",
            id="true is not a number",
        ),
        pytest.param(
            PODS,
            with_spec(hostNetwork=1),
            "json: cannot unmarshal number into Go struct field PodSpec.spec.hostNetwork of type bool",
            id="a number is not true",
        ),
        pytest.param(
            PODS,
            with_spec(restartPolicy=5),
            "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
            id="a number where a word of a list belongs",
        ),
        pytest.param(
            PODS,
            with_spec(containers=[{"resources": {"requests": {"cpu": "abc"}}}]),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="a text that is no quantity",
        ),
        pytest.param(
            PODS,
            with_spec(containers=[{"resources": {"requests": "x"}}]),
            "json: cannot unmarshal string into Go struct field "
            "ResourceRequirements.spec.containers.resources.requests of type v1.ResourceList",
            id="a text where amounts belong",
        ),
        pytest.param(
            PODS,
            {"metadata": {"creationTimestamp": "x"}},
            'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
            id="a text that is no time",
        ),
        pytest.param(
            LEASES,
            with_spec(renewTime="2026-01-01T00:00:00Z"),
            'parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": '
            'cannot parse "2026-01-01T00:00:00Z" as "2006"',
            id="a time without its microseconds",
        ),
        pytest.param(
            SERVICES,
            with_spec(ports=[{"targetPort": []}]),
            "json: cannot unmarshal array into Go struct field ServicePort.spec.ports.targetPort of type int32",
            id="a list where a number or a text belongs",
        ),
        pytest.param(SECRETS, {"data": {"a": "%%%"}}, "illegal base64 data at input byte 0", id="bytes not in base64"),
        pytest.param(SECRETS, {"data": {"a": "YQ\n%"}}, "illegal base64 data at input byte 3", id="in the second line"),
        pytest.param(
            PODS,
            with_spec(volumes=[{"emptyDir": 5}]),
            "json: cannot unmarshal number into Go struct field Volume.spec.volumes.VolumeSource.emptyDir "
            "of type v1.EmptyDirVolumeSource",
            id="in a struct that Go embeds in another",
        ),
        pytest.param(
            DEPLOYMENTS,
            with_spec(template={"spec": {"containers": {}}}),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers "
            "of type []v1.Container",
            id="inside the template of a deployment",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_named_as_upstream_names_it(of: Resource, obj: Object, problem: str) -> None:
    with pytest.raises(StatusError) as refused:
        shapes.read(of, obj)
    assert refused.value.code == 400
    assert refused.value.message == f'{of.kind} in version "v1" cannot be handled as a {of.kind}: {problem}'


def test_the_metadata_of_a_custom_object_has_a_form_too() -> None:
    with pytest.raises(StatusError) as refused:
        shapes.read(WIDGETS, {"metadata": {"name": 5}, "spec": "anything"})
    assert refused.value.message == (
        'Widget in version "v1" cannot be handled as a Widget: '
        "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"
    )


def test_an_object_in_its_usual_form_stays_as_it_is() -> None:
    obj = pod(container={"resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}})
    before = pod(container={"resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}})
    assert shapes.read(PODS, obj) == []
    assert obj == before


@pytest.mark.parametrize(
    ("written", "usual"),
    [
        pytest.param(1, "1", id="a number becomes a text"),
        pytest.param("0.5", "500m", id="half a core becomes 500m"),
        pytest.param("1000m", "1", id="a thousand thousandths become one"),
        pytest.param("1024Ki", "1Mi", id="1024 Ki become one Mi"),
        pytest.param(None, "0", id="null is nothing"),
    ],
)
def test_quantities_are_written_in_the_canonical_way(written: object, usual: str) -> None:
    node = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": written}}}
    shapes.read(NODES, node)
    assert node["status"] == {"capacity": {"cpu": usual}}


@pytest.mark.parametrize(
    ("written", "usual"),
    [
        pytest.param("aGVs\nbG8=\n", "aGVsbG8=", id="lines"),
        pytest.param("aGVs\r\nbG8\r\n=", "aGVsbG8=", id="lines of another system, within the padding too"),
        pytest.param("aGVsbG8=\n", "aGVsbG8=", id="a last line"),
        pytest.param("aGVsbG9=", "aGVsbG8=", id="bits that stand for nothing"),
        pytest.param("\n", "", id="an empty line"),
    ],
)
def test_bytes_are_written_in_the_canonical_way(written: str, usual: str) -> None:
    secret = {"metadata": {"name": "s"}, "data": {"a": written}}
    shapes.read(SECRETS, secret)
    assert secret["data"] == {"a": usual}


def test_a_request_for_a_certificate_may_be_written_in_lines() -> None:
    request = nonsense.sound()["CertificateSigningRequest"]
    text = request["spec"]["request"]
    request["spec"]["request"] = "".join(f"{text[start : start + 64]}\n" for start in range(0, len(text), 64))
    made = create(new_api(), resource("certificatesigningrequests.certificates.k8s.io"), request)
    assert made["spec"]["request"] == text


def test_a_time_with_a_line_break_at_its_end_is_none() -> None:
    with pytest.raises(StatusError, match="parsing time"):
        shapes.read(PODS, {"metadata": {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z\n"}})


def test_nulls_and_unknown_fields_are_dropped_and_the_latter_named() -> None:
    obj = pod(affinity=None, foo=1, container={"imagee": "x", "securityContext": {"aa": 1}})
    obj["bar"] = 1
    obj["metadata"]["creationTimestamp"] = None
    unknown = shapes.read(PODS, obj)
    assert obj == {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i", "securityContext": {}}]},
    }
    assert unknown == ["spec.containers[0].imagee", "spec.containers[0].securityContext.aa", "spec.foo", "bar"]


@pytest.mark.parametrize(
    ("spec", "usual"),
    [
        pytest.param({"taints": []}, {}, id="a list"),
        pytest.param({"taints": [{"key": "a", "effect": "NoSchedule"}]}, None, id="but not one with something in it"),
    ],
)
def test_a_list_with_nothing_in_it_is_left_out(spec: Object, usual: Object | None) -> None:
    expected = dict(spec) if usual is None else usual
    node = {"metadata": {"name": "n"}, "spec": spec}
    shapes.read(NODES, node)
    assert node["spec"] == expected


def test_a_map_with_nothing_in_it_is_left_out_and_a_struct_or_the_containers_are_not() -> None:
    obj = with_spec(nodeSelector={}, securityContext={}, containers=[])
    shapes.read(PODS, obj)
    assert obj["spec"] == {"securityContext": {}, "containers": []}


def test_nothing_of_the_wrong_kind_is_refused_all_the_same() -> None:
    with pytest.raises(StatusError, match=r"cannot unmarshal object into .* of type \[\]v1.Taint"):
        shapes.read(NODES, {"metadata": {"name": "n"}, "spec": {"taints": {}}})


def test_times_are_written_in_utc() -> None:
    lease: Object = {"spec": {"renewTime": "2026-01-01T02:00:00.000001+02:00"}, "metadata": {"name": "l"}}
    lease["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00.5Z"
    shapes.read(LEASES, lease)
    assert lease["spec"]["renewTime"] == "2026-01-01T00:00:00.000001Z"
    assert lease["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"


def test_strict_validation_refuses_unknown_fields_and_names_all_of_them() -> None:
    error = refusal_of_new(new_api(), PODS, pod(foo=1, bar=2), field_validation="Strict")
    assert error.code == 400
    assert error.message == (
        'Pod in version "v1" cannot be handled as a Pod: '
        'strict decoding error: unknown field "spec.foo", unknown field "spec.bar"'
    )
