"""The types of a release: each is there with everything that is asked about it, and only what is asked for is read."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.storage.catalogue import BUILT_IN
from stowplan.embedded.types import release
from stowplan.embedded.types.schema import JsonForm, Schema, Wire
from tests.unit.embedded.given import PODS
from tests.unit.embedded.given import resource as built_in

POD_SPEC = "io.k8s.api.core.v1.PodSpec"
CONTAINER = "io.k8s.api.core.v1.Container"


def types_of(schema: Schema, seen: set[str]) -> Iterator[Schema]:
    """A type, and every struct that it consists of, each once."""
    if schema.form is JsonForm.STRUCT and schema.name not in seen:
        seen.add(schema.name)
        yield schema
    for part in (*schema.fields.values(), *((schema.items,) if schema.items else ())):
        if part.name not in seen:
            yield from types_of(part, seen)


def names_on(wire: Wire) -> Iterator[str]:
    for told in wire.values():
        if isinstance(told, str):
            yield told
        else:
            yield from names_on(told)


@pytest.mark.parametrize("resource", [pytest.param(each, id=f"{each.qualified} {each.version}") for each in BUILT_IN])
def test_every_built_in_kind_is_known_down_to_its_last_field(resource: Resource) -> None:
    schema = release.of_kind(resource)
    assert schema is not None
    for each in types_of(schema, set()):
        numbered = set(names_on(each.wire))
        assert numbered <= each.fields.keys()
        assert each.fields.keys() - numbered <= {"apiVersion", "kind"}
        assert all(field.go_name or field.form is JsonForm.ANY for field in each.fields.values())


def test_kinds_are_found_by_what_objects_say_of_themselves() -> None:
    assert release.name_of("v1", "Pod") == "io.k8s.api.core.v1.Pod"
    assert release.name_of("apps/v1", "Deployment") == "io.k8s.api.apps.v1.Deployment"
    assert release.name_of("v1", "DeleteOptions") == "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    assert release.name_of("v1", "Toaster") is None


def test_a_custom_kind_is_not_among_them() -> None:
    assert release.of_kind(Resource("apps", "v1", "Deployment", "deployments", "deployment", is_custom=True)) is None


@pytest.mark.parametrize(
    ("name", "field", "form", "go_name"),
    [
        (POD_SPEC, "restartPolicy", JsonForm.TEXT, "v1.RestartPolicy"),
        (POD_SPEC, "priority", JsonForm.INT32, "int32"),
        (POD_SPEC, "terminationGracePeriodSeconds", JsonForm.INT64, "int64"),
        (POD_SPEC, "containers", JsonForm.LIST, "[]v1.Container"),
        (POD_SPEC, "nodeSelector", JsonForm.MAP, "map[string]string"),
        (POD_SPEC, "overhead", JsonForm.MAP, "v1.ResourceList"),
        (POD_SPEC, "securityContext", JsonForm.STRUCT, "v1.PodSecurityContext"),
        (CONTAINER, "tty", JsonForm.FLAG, "bool"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "uid", JsonForm.TEXT, "types.UID"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "creationTimestamp", JsonForm.TIME, "string"),
        ("io.k8s.api.coordination.v1.LeaseSpec", "renewTime", JsonForm.MICRO_TIME, "string"),
        ("io.k8s.api.core.v1.ServicePort", "targetPort", JsonForm.INT_OR_TEXT, "int32"),
        ("io.k8s.api.core.v1.ResourceFieldSelector", "divisor", JsonForm.QUANTITY, "resource.Quantity"),
        ("io.k8s.api.apps.v1.ControllerRevision", "data", JsonForm.ANY, ""),
        ("io.k8s.api.certificates.v1.CertificateSigningRequestSpec", "request", JsonForm.BYTES, "[]uint8"),
    ],
)
def test_a_field_has_a_form_and_a_name_in_go(name: str, field: str, form: JsonForm, go_name: str) -> None:
    found = release.type_named(name).fields[field]
    assert (found.form, found.go_name) == (form, go_name)


def test_what_is_left_out_when_empty_is_told_from_what_is_written() -> None:
    fields = release.type_named(POD_SPEC).fields
    assert fields["tolerations"].is_omitted_empty
    assert not fields["containers"].is_omitted_empty


def test_numbers_lead_to_fields_also_of_structs_that_have_no_name_in_json() -> None:
    volume = release.type_named("io.k8s.api.core.v1.Volume")
    assert volume.wire[1] == "name"
    source = volume.wire[2]
    assert not isinstance(source, str)
    assert source[2] == "emptyDir"
    assert volume.fields["emptyDir"].is_pointer
    assert not volume.fields["name"].is_pointer


def test_only_defaults_that_say_something_are_kept() -> None:
    port = release.type_named("io.k8s.api.core.v1.ContainerPort").fields
    assert (port["protocol"].default, port["containerPort"].default) == ("TCP", None)


def test_schemas_are_those_of_upstream_with_what_fields_mean() -> None:
    taint = release.openapi_schema("io.k8s.api.core.v1.Taint")
    assert taint["required"] == ["key", "effect"]
    assert taint["description"].startswith("The node this Taint is attached to")
    assert taint["properties"]["key"]["description"] == "Required. The taint key to be applied to a node."


def test_a_release_that_is_not_there_is_not_found() -> None:
    with pytest.raises(FileNotFoundError, match=r"kubernetes-1\.2\.json\.gz"):
        release.of_kind(replace(PODS, release="1.2"))


def test_an_older_release_does_not_have_the_fields_of_a_newer_one() -> None:
    nodes = built_in("nodes")
    newer, older = release.of_kind(nodes), release.of_kind(replace(nodes, release="1.36"))
    assert newer is not None
    assert older is not None
    assert "podPreemptionPolicy" in newer.at("spec").fields
    assert "podPreemptionPolicy" not in older.at("spec").fields
    assert older.at("spec").fields.keys() < newer.at("spec").fields.keys()


def test_an_older_release_has_the_kinds_that_the_newer_one_has_no_more() -> None:
    older = "io.k8s.api.scheduling.v1alpha2.PodGroup"
    assert release.name_of("scheduling.k8s.io/v1alpha2", "PodGroup") is None
    assert release.name_of("scheduling.k8s.io/v1alpha2", "PodGroup", "1.36") == older
    mode = release.type_named(f"{older}Spec", "1.36").at("disruptionMode")
    assert mode.form is JsonForm.TEXT


def test_neither_the_client_library_nor_descriptions_are_read_to_check_a_pod() -> None:
    program = (
        "import sys\n"
        "from stowplan.embedded.admission import shapes\n"
        "from stowplan.embedded.storage.catalogue import Catalogue\n"
        "from stowplan.embedded.types import release\n"
        "pods = Catalogue().find('', 'v1', 'pods')\n"
        "assert pods and shapes.read(pods, {'metadata': {'name': 'p'}}) == []\n"
        "print('kubernetes_asyncio' in sys.modules, release._descriptions.cache_info().currsize)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "False 0\n"
