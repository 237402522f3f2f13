"""The guide to plugins, followed word by word; and what its plugins do, by stories of their own."""

from __future__ import annotations

import asyncio
import importlib.util
import io
import re
import shutil
import tomllib
from collections.abc import Callable, Coroutine
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from stowplan import Cluster, make_node, make_pod
from stowplan.app.assembly import assemble
from stowplan.framework.contract import Plugin
from stowplan.simulate import FakeCluster, run
from stowplan.testing import LocalHandle, check_plugin

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "plugin-guide.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", GUIDE, re.DOTALL)
PARTS = [(code.splitlines()[0][2:], code.partition("\n")[2]) for code, _ in BLOCKS if code.startswith("# examples/")]
FOLDER = "examples/plugins"
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_the_blocks_print_what_stands_below_them() -> None:
    known: dict[str, Any] = {"__name__": "guide"}
    for code, expected in BLOCKS:
        if code.startswith("# examples/"):
            continue
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, "docs/plugin-guide.md", "exec"), known)
        assert printed.getvalue() == expected, code


@pytest.mark.parametrize(("file", "part"), PARTS)
def test_a_part_of_a_file_stands_there(file: str, part: str) -> None:
    assert part.strip()
    assert part in (ROOT / file).read_text(encoding="utf-8")


def test_every_plugin_of_the_examples_is_in_the_guide() -> None:
    assert {file for file, _ in PARTS} == {str(path.relative_to(ROOT)) for path in (ROOT / FOLDER).glob("*.py")}


def test_a_package_as_the_guide_describes_it_offers_its_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    described = tomllib.loads(project)["project"]
    # As an installer leaves it.
    info = tmp_path / f"acme_scheduling-{described['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {described['name']}\nVersion: {described['version']}\n", encoding="utf-8")
    entries = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in offered.items())
        for group, offered in described["entry-points"].items()
    )
    (info / "entry_points.txt").write_text("".join(entries), encoding="utf-8")
    (tmp_path / "acme_scheduling").mkdir()
    (tmp_path / "acme_scheduling" / "__init__.py").touch()
    shutil.copy(ROOT / FOLDER / "cool.py", tmp_path / "acme_scheduling")
    monkeypatch.syspath_prepend(tmp_path)
    cluster = Cluster({**HEAD, "profiles": [{"plugins": {"score": {"enabled": [{"name": "Cool", "weight": 5}]}}}]})
    cluster.add(make_node("a").capacity(cpu=4).build())
    assert re.search(r"^  Cool +5 ", str(cluster.explain(make_pod("web").build())), re.MULTILINE)


def plugin(file: str, name: str, *given: Any) -> Plugin:
    spec = importlib.util.spec_from_file_location(file, ROOT / FOLDER / f"{file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: Plugin = getattr(module, name)(*given)
    return made


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda: plugin("cool", "Cool"), id="Cool"),
        pytest.param(lambda: plugin("not_too_hot", "NotTooHot"), id="NotTooHot"),
        pytest.param(lambda: plugin("own_team", "OwnTeam"), id="OwnTeam"),
        pytest.param(lambda: plugin("pairs", "Pairs", LocalHandle()), id="Pairs"),
        pytest.param(lambda: plugin("starts", "Starts", 3), id="Starts"),
    ],
)
def test_a_plugin_of_the_examples_keeps_the_contract(made: Callable[[], Plugin]) -> None:
    check_plugin(made())


def cluster_with(file: str, name: str) -> Cluster:
    enabled = {"multiPoint": {"enabled": [{"name": f"{FOLDER}/{file}.py:{name}"}]}}
    return Cluster({**HEAD, "profiles": [{"plugins": enabled}]})


def play(cluster: Cluster, story: Callable[[FakeCluster], Coroutine[Any, Any, None]]) -> None:
    async def work() -> None:
        api = FakeCluster()
        scheduler = assemble(cluster, api, asyncio.get_running_loop().now_ns)  # type: ignore[attr-defined]
        api.connect(scheduler)
        tasks = [asyncio.ensure_future(work) for work in (scheduler.run(), scheduler.run_timers())]
        try:
            await story(api)
        finally:
            for task in tasks:
                task.cancel()

    run(work())


def test_a_pod_is_tried_when_its_node_has_cooled_and_not_before() -> None:
    async def story(api: FakeCluster) -> None:
        hot = make_node("a").capacity(cpu=4).annotation("example.com/celsius", "80")
        api.create(hot.build())
        api.create(make_pod("web").build())
        await asyncio.sleep(20)
        api.update(hot.annotation("example.com/celsius", "70").build())
        await asyncio.sleep(20)
        assert api.bindings == []
        api.update(hot.annotation("example.com/celsius", "40").build())
        await asyncio.sleep(1)
        assert api.bindings == [("default/web", "a")]

    play(cluster_with("not_too_hot", "NotTooHot"), story)


def test_a_pod_whose_partner_never_comes_gives_its_room_back() -> None:
    async def story(api: FakeCluster) -> None:
        api.create(make_node("a").capacity(cpu=1).build())
        api.create(make_pod("left").requests(cpu=1).annotation("example.com/together-with", "right").build())
        await asyncio.sleep(5)
        api.create(make_pod("other").requests(cpu=1).build())
        await asyncio.sleep(30)
        assert api.bindings == []
        await asyncio.sleep(60)
        assert api.bindings == [("default/other", "a")]

    play(cluster_with("pairs", "Pairs"), story)


def test_a_pod_whose_partner_runs_does_not_wait() -> None:
    async def story(api: FakeCluster) -> None:
        api.create(make_node("a").capacity(cpu=4).build())
        api.create(make_pod("right").on("a").build())
        api.create(make_pod("left").annotation("example.com/together-with", "right").build())
        await asyncio.sleep(1)
        assert api.bindings == [("default/left", "a")]

    play(cluster_with("pairs", "Pairs"), story)
