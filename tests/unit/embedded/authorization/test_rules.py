"""What one rule of a role allows."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.authorization.rules import Question, read_rules
from tests.unit.embedded.authorization.granting import rule

GET_WEB = Question("get", resource="pods", namespace="shop", name="web")
GET_SCALE = Question("get", "apps", "deployments", "scale", "shop", "web")


@pytest.mark.parametrize(
    ("written", "question", "expected"),
    [
        pytest.param(rule("get list", "pods"), GET_WEB, True, id="verb and resource are named"),
        pytest.param(rule("list", "pods"), GET_WEB, False, id="another verb"),
        pytest.param(rule("*", "pods"), GET_WEB, True, id="every verb"),
        pytest.param(rule("get", "nodes services"), GET_WEB, False, id="other resources"),
        pytest.param(rule("get", "*"), GET_WEB, True, id="every resource"),
        pytest.param(rule("get", "pods", "apps"), GET_WEB, False, id="another group"),
        pytest.param(rule("get", "pods", "*"), GET_WEB, True, id="every group"),
        pytest.param(rule("get", "deployments", "apps"), GET_SCALE, False, id="a resource is not its parts"),
        pytest.param(rule("get", "deployments/scale", "apps"), GET_SCALE, True, id="a part is named"),
        pytest.param(rule("get", "*/scale", "apps"), GET_SCALE, True, id="that part of everything"),
        pytest.param(rule("get", "*/status", "apps"), GET_SCALE, False, id="another part of everything"),
        pytest.param(rule("get", "*", "apps"), GET_SCALE, True, id="everything has every part in it"),
        pytest.param(rule("get", "deployments/*", "apps"), GET_SCALE, False, id="all parts of one are no word for it"),
        pytest.param(rule("get", "pods", names="web db"), GET_WEB, True, id="the name is named"),
        pytest.param(rule("get", "pods", names="db"), GET_WEB, False, id="another name"),
        pytest.param(rule("list", "pods", names="web"), Question("list", resource="pods"), False, id="no name to name"),
        pytest.param(rule("get", urls="/metrics"), Question("get", path="/metrics"), True, id="the path is named"),
        pytest.param(rule("get", urls="/metrics"), Question("get", path="/metrics/x"), False, id="a path below"),
        pytest.param(rule("get", urls="/logs/*"), Question("get", path="/logs/a/b"), True, id="all paths below"),
        pytest.param(rule("get", urls="/logs/*"), Question("get", path="/logs"), False, id="the path above"),
        pytest.param(rule("get", urls="*"), Question("get", path="/logs"), True, id="every path"),
        pytest.param(rule("get", urls="*"), Question("post", path="/logs"), False, id="a path by another verb"),
        pytest.param(rule("get", urls="*"), GET_WEB, False, id="paths are no objects"),
        pytest.param(rule("*", "*", "*"), Question("get", path="/logs"), False, id="objects are no paths"),
    ],
)
def test_a_rule_allows(written: dict[str, Any], question: Question, expected: bool) -> None:
    (read,) = read_rules({"rules": [written]})
    assert read.allows(question) is expected
