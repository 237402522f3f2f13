"""Texts that nobody has sent before are looked at, and not remembered whatever their length."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from stowplan.cel.values import parse_version
from stowplan.embedded.admission.defaults import pods as pod_defaults
from stowplan.embedded.admission.validation import names, pods, resources
from stowplan.embedded.custom import rule_values
from stowplan.embedded.objects.releases import RELEASE
from stowplan.model.quantity import Quantity

LONG = 3 * 2**20


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        pytest.param(names.subdomain, "x" * LONG, id="the name of an object"),
        pytest.param(names.label, "x" * LONG, id="the name of a namespace"),
        pytest.param(names.qualified, "x" * LONG, id="the key of a label"),
        pytest.param(names.label_value, "x" * LONG, id="the value of a label"),
        pytest.param(Quantity.parse, "0" * LONG, id="an amount"),
        pytest.param(lambda text: resources._objections("cpu", text), "0" * LONG, id="an amount of a resource"),
        pytest.param(pod_defaults._pull_policy, "x" * LONG, id="an image"),
        pytest.param(
            lambda text: pods._causes(text, frozenset(), RELEASE),
            b'{"hostname":"%b"}' % (b"x" * LONG),
            id="the spec of a pod",
        ),
        pytest.param(rule_values.escaped, "x" * LONG, id="the name of a property"),
        pytest.param(parse_version, "1.2.3-" + "x" * LONG, id="a version"),
    ],
)
def test_a_text_of_megabytes_is_not_kept(ask: Callable[[Any], object], text: Any) -> None:
    before = sys.getrefcount(text)
    ask(text)
    assert sys.getrefcount(text) == before
