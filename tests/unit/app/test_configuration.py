"""Where configurations come from: how each source is read, and how it says that it has changed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stowplan.app.configuration import ConfigMapSource, ConfigurationSource, FileSource, InlineSource, SourceError
from tests.limits import LIMIT_SECONDS


def config_map(**data: str) -> dict[str, Any]:
    return {"metadata": {"namespace": "kube-system", "name": "stowplan"}, "data": data}


def keyed(text: str) -> dict[str, Any]:
    return config_map(**{"config.yaml": text})


class Server:
    """A server with one ConfigMap."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found

    async def fetch(self) -> dict[str, Any]:
        return self.found


async def is_told(source: ConfigurationSource, *, is_expected: bool = False) -> bool:
    """Say whether the source reports a change; one that is expected is waited for."""
    try:
        await asyncio.wait_for(source.changed(), LIMIT_SECONDS if is_expected else 0.05)
    except TimeoutError:
        return False
    return True


def test_a_config_map_holds_the_text_under_its_key() -> None:
    source = ConfigMapSource(Server(keyed("parallelism: 2")).fetch)
    assert source.name == "ConfigMap"
    assert asyncio.run(source.read()) == "parallelism: 2"
    assert source.name == "ConfigMap kube-system/stowplan"


@pytest.mark.parametrize(
    ("found", "keys"),
    [
        pytest.param(config_map(), "none", id="no data"),
        pytest.param({"metadata": {"namespace": "kube-system", "name": "stowplan"}}, "none", id="no data field"),
        pytest.param(config_map(b="", a=""), "a, b", id="other keys"),
    ],
)
def test_a_config_map_without_the_key_is_an_error(found: dict[str, Any], keys: str) -> None:
    with pytest.raises(SourceError) as caught:
        asyncio.run(ConfigMapSource(Server(found).fetch).read())
    assert str(caught.value) == (
        f"ConfigMap kube-system/stowplan: data.config.yaml: Required value; put the configuration there (keys: {keys})"
    )


def test_a_config_map_tells_of_new_data_only_and_once() -> None:
    async def watch() -> list[bool]:
        server = Server(keyed("a"))
        source = ConfigMapSource(server.fetch, poll_seconds=0.001)
        await source.read()
        told = [await is_told(source)]
        metadata = {"namespace": "kube-system", "name": "stowplan", "labels": {"x": "y"}}
        server.found = {**keyed("a"), "metadata": metadata}
        told.append(await is_told(source))
        server.found = keyed("b")
        told.append(await is_told(source, is_expected=True))
        assert await source.read() == "b"
        return [*told, await is_told(source)]

    assert asyncio.run(watch()) == [False, False, True, False]


def test_a_file_tells_when_its_text_changes_comes_or_goes(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"

    async def watch() -> list[bool]:
        source, told = FileSource(path, poll_seconds=0.001), []
        with pytest.raises(SourceError, match="cannot be read: No such file"):
            await source.read()
        for change, is_expected in ((None, False), ("a", True), ("a", False), ("b", True)):
            if change is not None:
                path.write_text(change)
            told.append(await is_told(source, is_expected=is_expected))
            if told[-1]:
                assert await source.read() == change
        path.unlink()
        return [*told, await is_told(source, is_expected=True)]

    assert asyncio.run(watch()) == [False, True, False, True, True]


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="not a text file in UTF-8: invalid start byte at byte 0"):
        asyncio.run(FileSource(path).read())


def test_a_text_on_the_command_line_never_changes() -> None:
    source = InlineSource("parallelism: 2")
    assert (asyncio.run(source.read()), asyncio.run(is_told(source))) == ("parallelism: 2", False)


def test_a_config_map_of_the_cluster_is_fetched_anew_and_its_change_noticed() -> None:
    versions = [keyed("parallelism: 2"), keyed("parallelism: 2"), keyed("parallelism: 3"), keyed("parallelism: 3")]

    async def fetch() -> dict[str, Any]:
        return versions.pop(0)

    async def follow() -> tuple[str, str, str]:
        source = ConfigMapSource(fetch, poll_seconds=0.001)
        first = await source.read()
        await source.changed()
        return source.name, first, await source.read()

    expected = ("ConfigMap kube-system/stowplan", "parallelism: 2", "parallelism: 3")
    assert asyncio.run(follow()) == expected


def test_a_config_map_out_of_reach_changes_nothing_until_it_is_back() -> None:
    answers: list[Any] = [keyed("parallelism: 2"), SourceError("out of reach"), keyed("parallelism: 4")]

    async def fetch() -> dict[str, Any]:
        answer = answers.pop(0)
        if isinstance(answer, SourceError):
            raise answer
        return dict(answer)

    async def follow() -> int:
        source = ConfigMapSource(fetch, poll_seconds=0.001)
        await source.read()
        await source.changed()
        return len(answers)

    assert asyncio.run(follow()) == 0
