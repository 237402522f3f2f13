"""Releases whose API can be served are those that can be decided like."""

from __future__ import annotations

from stowplan.config import releases
from stowplan.embedded.objects.releases import RELEASE, VERSIONS


def test_the_server_and_the_scheduler_know_the_same_releases() -> None:
    assert {release: version.removeprefix("v") for release, version in VERSIONS.items()} == dict(releases.RELEASES)
    assert releases.DEFAULT == RELEASE
