"""The columns of webhooks, policies, registrations, requests for certificates, priorities and addresses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from stowplan.embedded.tables.table import as_table
from tests import stored_only
from tests.unit.embedded.given import resource

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
ADMISSION = "admissionregistration.k8s.io"
FLOW = "flowcontrol.apiserver.k8s.io"


def row(plural: str, kind: str, **more: Any) -> dict[str, Any]:
    obj = stored_only.of_kind(kind) | more
    obj["metadata"]["creationTimestamp"] = "2026-01-01T11:00:00Z"
    table = as_table(resource(plural), [obj], NOW)
    names = [column["name"] for column in table["columnDefinitions"]]
    return dict(zip(names, table["rows"][0]["cells"], strict=True))


@pytest.mark.parametrize(
    ("plural", "kind", "expected"),
    [
        pytest.param(
            f"mutatingwebhookconfigurations.{ADMISSION}",
            "MutatingWebhookConfiguration",
            {"Name": "injector", "Webhooks": 1, "Age": "60m"},
            id="webhooks",
        ),
        pytest.param(
            f"validatingadmissionpolicies.{ADMISSION}",
            "ValidatingAdmissionPolicy",
            {"Name": "replicas", "Validations": 1, "ParamKind": "<unset>", "Age": "60m"},
            id="a policy",
        ),
        pytest.param(
            f"validatingadmissionpolicybindings.{ADMISSION}",
            "ValidatingAdmissionPolicyBinding",
            {"Name": "replicas", "PolicyName": "replicas", "ParamRef": "<unset>", "Age": "60m"},
            id="a binding",
        ),
        pytest.param(
            "apiservices.apiregistration.k8s.io",
            "APIService",
            {
                "Name": "v1beta1.metrics.example.com",
                "Service": "kube-system/metrics",
                "Available": "Unknown",
                "Age": "60m",
            },
            id="a registration",
        ),
        pytest.param(
            f"prioritylevelconfigurations.{FLOW}",
            "PriorityLevelConfiguration",
            {
                "Name": "mine",
                "Type": "Limited",
                "NominalConcurrencyShares": "<none>",
                "Queues": "<none>",
                "HandSize": "<none>",
                "QueueLengthLimit": "<none>",
                "Age": "60m",
            },
            id="a priority level",
        ),
        pytest.param(
            f"flowschemas.{FLOW}",
            "FlowSchema",
            {
                "Name": "mine",
                "PriorityLevel": "mine",
                "MatchingPrecedence": 0,
                "DistinguisherMethod": "<none>",
                "Age": "60m",
                "MissingPL": "?",
            },
            id="a flow schema",
        ),
        pytest.param(
            "servicecidrs.networking.k8s.io",
            "ServiceCIDR",
            {"Name": "more", "CIDRs": "10.200.0.0/24", "Age": "60m"},
            id="a range",
        ),
        pytest.param(
            "ipaddresses.networking.k8s.io",
            "IPAddress",
            {"Name": "10.200.0.7", "ParentRef": "services/default/web"},
            id="an address",
        ),
    ],
)
def test_a_row_says_what_kubectl_shows(plural: str, kind: str, expected: dict[str, Any]) -> None:
    assert row(plural, kind) == expected


def test_a_registration_says_why_it_is_not_available() -> None:
    condition = {"type": "Available", "status": "False", "reason": "ServiceNotFound"}
    found = row("apiservices.apiregistration.k8s.io", "APIService", status={"conditions": [condition]})
    assert found["Available"] == "False (ServiceNotFound)"


@pytest.mark.parametrize(
    ("kinds", "certificate", "expected"),
    [
        pytest.param([], "", "Pending", id="nothing yet"),
        pytest.param(["Approved"], "", "Approved", id="approved"),
        pytest.param(["Denied"], "", "Denied", id="denied"),
        pytest.param(["Approved", "Failed"], "", "Approved,Failed", id="failed"),
        pytest.param(["Approved"], "YQ==", "Approved,Issued", id="issued"),
    ],
)
def test_a_request_for_a_certificate_says_how_far_it_is(kinds: list[str], certificate: str, expected: str) -> None:
    status = {"conditions": [{"type": kind, "status": "True"} for kind in kinds], "certificate": certificate}
    plural = "certificatesigningrequests.certificates.k8s.io"
    assert row(plural, "CertificateSigningRequest", status=status)["Condition"] == expected
