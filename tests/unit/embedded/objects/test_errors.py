"""Refusals as clients read them."""

from __future__ import annotations

import pytest

from stowplan.embedded.objects import errors
from stowplan.embedded.objects.errors import Cause, StatusError
from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.given import DEPLOYMENTS, PODS

MISSING = Cause("FieldValueRequired", "metadata.name", "Required value")
TOLD = {"reason": "FieldValueRequired", "message": "Required value", "field": "metadata.name"}


@pytest.mark.parametrize(
    ("error", "details"),
    [
        pytest.param(errors.not_found(PODS, "p"), {"name": "p", "kind": "pods"}, id="of the core group"),
        pytest.param(
            errors.not_found(DEPLOYMENTS, "d"),
            {"name": "d", "group": "apps", "kind": "deployments"},
            id="of another group",
        ),
        pytest.param(errors.invalid(PODS, "", [MISSING]), {"kind": "Pod", "causes": [TOLD]}, id="without a name"),
        pytest.param(errors.method_not_allowed("patch", PODS), {"kind": "pods"}, id="about no object"),
    ],
)
def test_details_leave_out_what_is_empty(error: StatusError, details: Object) -> None:
    assert error.status()["details"] == details


def test_a_refusal_without_a_reason_names_none() -> None:
    assert StatusError(500, "", "no").status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "no",
        "code": 500,
    }
