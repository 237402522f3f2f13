"""Kinds that nothing in an embedded cluster acts upon: kept, described, and told to be no more than that."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from stowplan.serving.certificates import self_signed
from tests import stored_only
from tests.integration.embedded.running import Cluster, running
from tests.integration.embedded.talking import Caller, Reply

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with running() as cluster:
        yield cluster


@pytest.fixture
def caller(shared: Cluster) -> Iterator[Caller]:
    caller = Caller(shared.port)
    yield caller
    caller.close()


def collection_of(caller: Caller, obj: dict[str, Any]) -> str:
    """Where objects of a kind are, by what the server says of itself."""
    root = f"/apis/{obj['apiVersion']}" if "/" in obj["apiVersion"] else f"/api/{obj['apiVersion']}"
    served = caller.get(root).content["resources"]
    (found,) = [each for each in served if each["kind"] == obj["kind"] and "/" not in each["name"]]
    return f"{root}/namespaces/default/{found['name']}" if found["namespaced"] else f"{root}/{found['name']}"


def post(caller: Caller, obj: dict[str, Any]) -> Reply:
    return caller.post(collection_of(caller, obj), obj, fieldValidation="Strict")


@pytest.mark.parametrize("kind", sorted(stored_only.WARNINGS))
def test_it_is_kept_and_whoever_writes_it_is_told_that_nothing_comes_of_it(caller: Caller, kind: str) -> None:
    obj = stored_only.of_kind(kind)
    where = f"{collection_of(caller, obj)}/{obj['metadata']['name']}"
    created = post(caller, obj)
    changed = caller.patch(where, {"metadata": {"labels": {"a": "b"}}})
    assert (created.code, changed.code) == (201, 200), created.text
    words = f"299 - {json.dumps(stored_only.WARNINGS[kind])}"
    assert (created.warnings, changed.warnings) == ((words,), (words,))
    kept = caller.get(where)
    assert kept.code == 200
    assert kept.warnings == ()
    assert kept.content["metadata"]["labels"]["a"] == "b"
    assert caller.delete(where).code == 200


def test_the_table_of_warnings_is_about_kinds_that_are_served_and_nothing_else(caller: Caller) -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"}}
    assert post(caller, config_map).warnings == ()
    assert {obj["kind"] for obj in stored_only.objects()} == set(stored_only.WARNINGS)


def test_a_field_that_the_kind_does_not_have_is_refused_or_told(caller: Caller) -> None:
    webhook = stored_only.of_kind("MutatingWebhookConfiguration")
    webhook["webhooks"][0]["sideEffect"] = "None"
    strict = post(caller, webhook)
    assert strict.code == 400
    assert 'unknown field "webhooks[0].sideEffect"' in strict.content["message"]


def test_a_value_of_the_wrong_type_is_refused(caller: Caller) -> None:
    service = stored_only.of_kind("APIService")
    service["spec"]["groupPriorityMinimum"] = "much"
    refused = post(caller, service)
    assert refused.code == 400
    assert refused.content["message"] == (
        'APIService in version "v1" cannot be handled as a APIService: json: cannot unmarshal string into Go struct '
        "field APIServiceSpec.spec.groupPriorityMinimum of type int32"
    )


def test_a_request_for_a_certificate_says_who_asks_and_stays_as_it_is(caller: Caller) -> None:
    request = stored_only.of_kind("CertificateSigningRequest")
    request["metadata"]["name"] = "forged"
    request["spec"] |= {"username": "system:admin", "groups": ["system:masters", "root"], "extra": {"a": ["b"]}}
    spec = post(caller, request).content["spec"]
    assert spec["username"] == "kubernetes-admin"
    assert spec["groups"] == ["system:masters", "system:authenticated"]
    assert "extra" not in spec
    changed = caller.patch(f"{REQUESTS}/forged", {"spec": {"username": "somebody"}})
    assert changed.content["spec"] == spec


def test_a_request_for_a_certificate_is_approved_by_its_own_path_alone(caller: Caller) -> None:
    request = stored_only.of_kind("CertificateSigningRequest")
    request["metadata"]["name"] = "approved"
    post(caller, request)
    approved = {"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "Known"}]}}
    assert "conditions" not in caller.patch(f"{REQUESTS}/approved", approved).content["status"]
    by_status = caller.patch(f"{REQUESTS}/approved/status", approved)
    assert by_status.code == 422
    assert 'updates may not add a condition of type "Approved"' in by_status.content["message"]
    answer = caller.patch(f"{REQUESTS}/approved/approval", approved)
    assert answer.code == 200
    (condition,) = answer.content["status"]["conditions"]
    assert condition["type"] == "Approved"
    assert condition["lastUpdateTime"] == condition["lastTransitionTime"]
    removed = caller.patch(f"{REQUESTS}/approved/approval", {"status": {"conditions": []}})
    assert 'updates may not remove a condition of type "Approved"' in removed.content["message"]
    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    cells = caller.get(f"{REQUESTS}/approved", table).content["rows"][0]["cells"]
    assert cells[2:] == ["example.com/signer", "kubernetes-admin", "60m", "Approved"]


def block(content: bytes, kind: str = "CERTIFICATE", header: str = "") -> str:
    text = f"-----BEGIN {kind}-----\n{header}{base64.b64encode(content).decode()}\n-----END {kind}-----\n"
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("certificate", "problem"),
    [
        pytest.param("eA==", "must contain at least one CERTIFICATE PEM block", id="no PEM"),
        pytest.param(block(b"x", "X"), 'only CERTIFICATE PEM blocks are allowed, found "X"', id="another type"),
        pytest.param(block(b"x", header="A: b\n\n"), "no PEM block headers are permitted", id="headers"),
        pytest.param(block(b"x"), "x509: malformed certificate", id="no certificate"),
        pytest.param(block(b""), "found CERTIFICATE PEM block containing 0 certificates", id="nothing"),
    ],
)
def test_what_is_no_certificate_is_not_given_for_one(caller: Caller, certificate: str, problem: str) -> None:
    request = stored_only.of_kind("CertificateSigningRequest")
    request["metadata"]["name"] = "unsigned"
    # The same one for all of these.
    post(caller, request)
    answer = caller.patch(f"{REQUESTS}/unsigned/status", {"status": {"certificate": certificate}})
    assert answer.code == 422
    assert f'status.certificate: Invalid value: "<certificate data>": {problem}' in answer.content["message"]


def test_a_certificate_is_given_once(caller: Caller) -> None:
    request = stored_only.of_kind("CertificateSigningRequest")
    request["metadata"]["name"] = "signed"
    post(caller, request)
    first, second = (base64.b64encode(self_signed()[0]).decode() for _ in range(2))
    assert caller.patch(f"{REQUESTS}/signed/status", {"status": {"certificate": first}}).code == 200
    again = caller.patch(f"{REQUESTS}/signed/status", {"status": {"certificate": second}})
    assert (
        "status.certificate: Forbidden: updates may not modify existing certificate content" in again.content["message"]
    )
