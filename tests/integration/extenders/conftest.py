"""An extender that runs while a module is tested; its path says how it behaves (`extender_server`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.extender_process import Server, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running
