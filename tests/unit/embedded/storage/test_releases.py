"""Releases whose API can be served are those that can be decided like."""

from __future__ import annotations

from pathlib import Path

from stowplan.config import releases
from stowplan.embedded.objects.releases import CHANGES, RELEASE, VERSIONS, changed


def test_the_server_and_the_scheduler_know_the_same_releases() -> None:
    assert {release: version.removeprefix("v") for release, version in VERSIONS.items()} == dict(releases.RELEASES)
    assert releases.DEFAULT == RELEASE


def test_each_difference_in_words_is_asked_for_in_one_place_and_documented() -> None:
    root = Path(__file__).parents[4]
    sources = [path.read_text(encoding="utf-8") for path in (root / "src/stowplan/embedded").rglob("*.py")]
    asked = {name: sum(text.count(f'changed("{name}"') for text in sources) for name in CHANGES}
    assert asked == dict.fromkeys(CHANGES, 1)
    documented = (root / "docs/embedded.md").read_text(encoding="utf-8")
    assert [name for name in CHANGES if f"| {name} |" not in documented] == []


def test_a_change_holds_since_its_release() -> None:
    assert (changed("GroupsOf137", "1.36"), changed("GroupsOf137", "1.37")) == (False, True)
