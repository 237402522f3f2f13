"""Extenders made from a configuration: the order they are asked in."""

from __future__ import annotations

from stowplan.config.types import ExtenderConfig
from stowplan.extender.connect import connect


def test_extenders_that_may_fail_come_after_all_others() -> None:
    described = [
        ExtenderConfig(url_prefix="http://one", ignorable=True),
        ExtenderConfig(url_prefix="http://two"),
        ExtenderConfig(url_prefix="http://three", ignorable=True),
        ExtenderConfig(url_prefix="http://four"),
    ]
    assert [made.name for made in connect(described)] == ["http://two", "http://four", "http://one", "http://three"]
