"""Plugins whose files are saved while they are in use: what is in force then, and what becomes of pods on their way."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stowplan.app.assembly import assemble, reassemble
from stowplan.app.cluster import Chosen, Cluster
from stowplan.app.configuration import installed_plugins
from stowplan.app.reload import AcceptedConfiguration, RejectedConfiguration, Reloader
from stowplan.app.source_watch import SourceWatch
from stowplan.cache.validate import validate_cache
from stowplan.queue.validate import validate_queue
from stowplan.simulate import FakeCluster, run
from stowplan.testing import make_node, make_pod

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
#: Both versions are of one length, for Python tells bytecode apart by second and size.
ONLY = """
from stowplan.framework import Filter, reject

class Only(Filter):
    columns = {"letter": lambda node: ord(node.name)}

    def filter(self, pod, nodes, state):
        yield reject(nodes.column("letter") != ord("%s"), "another is wanted")
"""


class Desk:
    """A plugin file, and a cluster of the nodes `a` and `b` that schedules with it."""

    def __init__(self, folder: Path, text: str, where: str = "only.py", name: str = "Only") -> None:
        self.file = folder / where
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(text)
        self.text = HEAD + f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: '{self.file}:{name}'}}]}}}}}}]"
        self.config = folder / "config.yaml"
        self.config.write_text(self.text)
        self.cluster = Cluster(self.text)
        for node in ("a", "b"):
            self.cluster.add(make_node(node).capacity(cpu="64", memory="64Gi", pods=110).build())
        cluster = self.cluster
        self.reloader = Reloader(cluster.config, cluster.registry, cluster.build, cluster.use)
        self.watch = SourceWatch(self.config, lambda: self.reloader.registry)

    def goes_to(self, name: str) -> str:
        """Place a pod of the one template."""
        result = self.cluster.schedule(make_pod(name).requests(cpu="1").build())
        assert isinstance(result, Chosen), result
        return result.node_name

    def save(self, text: str) -> str:
        """Save the plugin and have that noticed; return why it is refused."""
        self.file.write_text(text)
        return self.notice()

    def notice(self) -> str:
        assert self.watch.look() == ()
        changed = self.watch.look()
        assert changed
        answer = self.reloader.offer_anew(self.config.read_text(), installed_plugins)
        self.watch.settle(is_good=isinstance(answer, AcceptedConfiguration))
        self.reloader.apply()
        return answer.reason if isinstance(answer, RejectedConfiguration) else ""


@pytest.fixture(autouse=True)
def modules_put_back(tmp_path: Path) -> Iterator[None]:
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def test_a_filter_that_turns_round_is_in_force_with_the_next_pod(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ONLY % "a")
    assert [desk.goes_to(f"p{number}") for number in range(3)] == ["a", "a", "a"]
    assert desk.save(ONLY % "b") == ""
    assert [desk.goes_to(f"q{number}") for number in range(3)] == ["b", "b", "b"]
    assert len(desk.cluster.pods_on("a")) == 3


def test_edits_of_one_length_within_a_second_are_all_read(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ONLY % "a")
    times = desk.file.stat().st_atime_ns, desk.file.stat().st_mtime_ns
    for number, letter in enumerate("bab"):
        desk.file.write_text(ONLY % letter)
        os.utime(desk.file, ns=times)
        assert desk.notice() == ""
        assert desk.goes_to(f"p{number}") == letter


def test_a_column_that_is_read_otherwise_is_read_anew(tmp_path: Path) -> None:
    text = ONLY % "a"
    desk = Desk(tmp_path, text)
    assert [desk.goes_to(f"p{number}") for number in range(2)] == ["a", "a"]
    assert desk.save(text.replace("ord(node.name)", "ord('a') if node.name == 'b' else 0")) == ""
    assert desk.goes_to("q") == "b"


def test_a_fact_that_the_plugin_reads_for_itself_is_read_anew(tmp_path: Path) -> None:
    text = (ONLY % "a").replace('nodes.column("letter")', 'nodes.fact("letter", lambda node: ord(node.name))')
    desk = Desk(tmp_path, text)
    assert [desk.goes_to(f"p{number}") for number in range(2)] == ["a", "a"]
    assert desk.save(text.replace("lambda node: ord(node.name)", "lambda node: 97 if node.name == 'b' else 0")) == ""
    assert desk.goes_to("q") == "b"


def test_a_file_that_is_replaced_by_renaming_another_is_noticed(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ONLY % "a")
    beside = tmp_path / ".only.py.swp"
    beside.write_text(ONLY % "b")
    beside.replace(desk.file)
    assert desk.notice() == ""
    assert desk.goes_to("p") == "b"


@pytest.mark.parametrize("where", ["only.py", "src/boxed_links/only.py"])
def test_a_link_that_leads_elsewhere_is_noticed(tmp_path: Path, where: str) -> None:
    folder = (tmp_path / where).parent
    folder.mkdir(parents=True, exist_ok=True)
    if "boxed" in where:
        (folder / "__init__.py").write_text("")
    for letter in "ab":
        (folder / f"only_{letter}.py").write_text(ONLY % letter)
    (tmp_path / where).symlink_to("only_a.py")
    desk = Desk(tmp_path, ONLY % "a", where)
    assert desk.goes_to("p") == "a"
    (folder / "beside").symlink_to("only_b.py")
    (folder / "beside").replace(desk.file)
    assert desk.notice() == ""
    assert desk.goes_to("q") == "b"
    (folder / "only_b.py").write_text(ONLY % "a")
    assert desk.notice() == ""
    assert desk.goes_to("r") == "a"


def test_a_file_is_read_only_when_two_looks_agree(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ONLY % "a")
    desk.file.write_text("")
    assert desk.watch.look() == ()
    desk.file.write_text(ONLY % "b")
    assert desk.watch.look() == ()
    assert desk.watch.look() == (desk.file,)
    assert desk.watch.look() == ()


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        pytest.param("class Only(\n", "SyntaxError: '(' was never closed", 1, id="it does not parse"),
        pytest.param(ONLY % "b" + "\n1 / 0\n", "division by zero", 10, id="it raises at import"),
        pytest.param(
            "\nimport no_such_module\n", "No module named 'no_such_module'", 2, id="it imports what is not there"
        ),
    ],
)
def test_what_cannot_be_loaded_is_told_with_its_line_and_leaves_the_old_in_force(
    tmp_path: Path, text: str, problem: str, line: int
) -> None:
    desk = Desk(tmp_path, ONLY % "a")
    said = f"construct: plugin '{desk.file}:Only': cannot load '{desk.file}': {problem} (at {desk.file}:{line})"
    assert desk.save(text) == said
    assert desk.goes_to("p") == "a"
    assert sys.modules[str(desk.file)].Only is type(desk.cluster.profiles["default-scheduler"].foreign[0])
    assert desk.save(ONLY % "b") == ""
    assert desk.goes_to("q") == "b"


def test_what_it_declared_is_not_read_before_all_of_it_is_good(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ONLY % "a")
    assert [desk.goes_to(f"p{number}") for number in range(2)] == ["a", "a"]
    reads_otherwise = (ONLY % "a").replace("ord(node.name)", "0")
    desk.config.write_text(desk.text.replace("}]}}}]", "}, {name: Missing}]}}}]"))
    assert "Missing" in desk.save(reads_otherwise)
    desk.cluster.add(make_node("c").capacity(cpu="64", memory="64Gi", pods=110).build())
    assert desk.goes_to("q") == "a"


BESIDE = "from wanted import LETTER\n" + (ONLY % "a").replace('ord("a")', "ord(LETTER)")


def test_a_module_beside_it_is_followed_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "wanted.py").write_text("LETTER = 'a'\n")
    desk = Desk(tmp_path, BESIDE)
    assert desk.goes_to("p") == "a"
    (tmp_path / "wanted.py").write_text("LETTER = 'b'\n")
    assert desk.notice() == ""
    assert desk.goes_to("q") == "b"
    assert not list(tmp_path.rglob("*.pyc"))


def test_a_module_that_is_missing_mends_it_when_it_comes(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ONLY % "a")
    assert "No module named 'wanted'" in desk.save(BESIDE)
    (tmp_path / "wanted.py").write_text("LETTER = \n")
    assert f"SyntaxError: invalid syntax (at {tmp_path}/wanted.py:1)" in desk.notice()
    (tmp_path / "wanted.py").write_text("LETTER = 'b'\n")
    assert desk.notice() == ""
    assert desk.goes_to("q") == "b"


def test_two_folders_may_have_modules_of_one_name_but_not_packages(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder / "boxed").mkdir(parents=True)
        (tmp_path / folder / "boxed" / "__init__.py").write_text("")
    Desk(tmp_path / "one", ONLY % "a", "boxed/only.py")
    with pytest.raises(ValueError, match=r"another package 'boxed' is loaded, from .*; rename the package, or refer"):
        Desk(tmp_path / "two", ONLY % "a", "boxed/only.py")


def test_all_of_its_package_is_followed(tmp_path: Path) -> None:
    package = tmp_path / "src" / "boxed_letters"
    (package / "inner").mkdir(parents=True)
    for file in ("__init__.py", "inner/__init__.py"):
        (package / file).write_text("")
    (package / "inner" / "wanted.py").write_text("LETTER = 'a'\n")
    desk = Desk(tmp_path, BESIDE.replace("from wanted", "from .inner.wanted"), "src/boxed_letters/only.py")
    assert desk.goes_to("p") == "a"
    assert type(desk.cluster.profiles["default-scheduler"].foreign[0]).__module__ == "boxed_letters.only"
    (package / "inner" / "wanted.py").write_text("LETTER = 'b'\n")
    assert desk.notice() == ""
    assert desk.goes_to("q") == "b"
    # Whoever makes another cluster meanwhile does not get what is kept of before.
    (package / "inner" / "wanted.py").write_text("LETTER = 'a'\n")
    assert Desk(tmp_path, desk.file.read_text(), "src/boxed_letters/only.py").goes_to("p") == "a"


def test_a_class_gets_another_name_in_its_file_and_then_in_the_configuration(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ONLY % "a")
    refused = f"construct: plugin '{desk.file}:Only': '{desk.file}' has no class 'Only'; known: Other"
    assert desk.save((ONLY % "b").replace("class Only", "class Other")) == refused
    assert desk.goes_to("p") == "a"
    desk.config.write_text(desk.text.replace(":Only", ":Other"))
    assert desk.notice() == ""
    assert desk.goes_to("q") == "b"


def test_a_plugin_goes_with_its_line_in_the_configuration(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ONLY % "a")
    desk.file.unlink()
    desk.config.write_text(HEAD)
    assert desk.notice() == ""
    assert desk.cluster.profiles["default-scheduler"].foreign == ()


def test_other_code_that_sorts_the_queue_needs_a_restart(tmp_path: Path) -> None:
    text = "from stowplan.framework import QueueSort\n\nclass ByName(QueueSort):\n    def sort_key(self, pod, since):\n"
    file = tmp_path / "sorter.py"
    file.write_text(text + "        return pod.name\n")
    enabled = f"{{disabled: [{{name: PrioritySort}}], enabled: [{{name: '{file}:ByName'}}]}}"
    sorting = HEAD + f"profiles: [{{plugins: {{queueSort: {enabled}}}}}]"
    cluster = Cluster(sorting)
    reloader = Reloader(cluster.config, cluster.registry, cluster.build, cluster.use)
    more = sorting + "\npercentageOfNodesToScore: 7"
    assert isinstance(reloader.offer_anew(more, installed_plugins), AcceptedConfiguration)
    file.write_text(text + "        return -pod.priority\n")
    answer = reloader.offer_anew(sorting, installed_plugins)
    assert isinstance(answer, RejectedConfiguration)
    assert answer.reason.startswith("profiles: the code that sorts the queue has changed")


HOLDS = """
from stowplan.framework import Permit, Reserve, Wait

class Holds(Permit, Reserve):
    taken = []

    def permit(self, pod, node_name):
        return %s

    def reserve(self, pod, node_name):
        self.taken.append(pod.name)

    def unreserve(self, pod, node_name):
        self.taken.remove(pod.name)
"""


def test_a_pod_that_the_old_code_holds_is_tried_again_with_the_new(tmp_path: Path) -> None:
    desk = Desk(tmp_path, HOLDS % "Wait(600)", "holds.py", "Holds")
    cluster, api, told = desk.cluster, FakeCluster(), []

    async def story() -> None:
        loop = asyncio.get_running_loop()
        scheduler = assemble(cluster, api, loop.now_ns)  # type: ignore[attr-defined]
        api.connect(scheduler)

        def swap(configuration: object, built: object) -> None:
            cluster.use(configuration, built)  # type: ignore[arg-type]
            reassemble(cluster, scheduler)

        desk.reloader.swap = swap
        tasks = [asyncio.ensure_future(work) for work in (scheduler.run(), scheduler.run_timers())]
        for node in ("a", "b"):
            api.create(make_node(node).capacity(cpu="64", memory="64Gi", pods=110).build())
        for number in range(3):
            api.create(make_pod(f"p{number}").requests(cpu="1").build())
        await asyncio.sleep(20)
        old = cluster.profiles["default-scheduler"].foreign[0]
        assert (len(cluster.handle.waiting_pods), api.bindings) == (3, [])
        desk.file.write_text(HOLDS % "None")
        answer = desk.reloader.offer_anew(desk.text, installed_plugins)
        assert isinstance(answer, AcceptedConfiguration)
        scheduler.submit(lambda now_ns: told.append(desk.reloader.apply()))
        await asyncio.sleep(0.5)
        validate_queue(scheduler.state.queue)
        validate_cache(cluster.cache)
        await asyncio.sleep(20)
        new = cluster.profiles["default-scheduler"].foreign[0]
        assert sorted(pod for pod, _ in api.bindings) == ["default/p0", "default/p1", "default/p2"]
        # What the old one took, it gave back; what is bound, the new one took.
        assert (old.taken, sorted(new.taken)) == ([], ["p0", "p1", "p2"])  # type: ignore[attr-defined]
        validate_queue(scheduler.state.queue)
        validate_cache(cluster.cache)
        assert len(cluster.handle.waiting_pods) == 0
        for task in tasks:
            task.cancel()

    run(story())
    assert told == [True]
    reasons = {note.text for note in api.notes if note.reason == "FailedScheduling"}
    assert reasons == {"waiting on permit for pod: plugin Holds was read again"}
