"""The page about questions before a cluster is changed; `tests/documentation` types its commands."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from stowplan.app import what_if
from stowplan.app.cluster import Cluster
from stowplan.app.question_bodies import MOST_BYTES
from stowplan.app.what_if_page import LONGEST_SECONDS, WHATIF
from stowplan.local import file_cluster
from stowplan.whatif import requests
from stowplan.whatif.changes import MOST_NODES
from stowplan.whatif.requests import MOST_STEPS, AskedQuestion, Step
from tests.integration.kube.hurry import HurriedLoop
from tools import generate_whatif_schema

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "whatif.md").read_text(encoding="utf-8")
POD = {"metadata": {"name": "p"}, "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c"}]}}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(autouse=True)
def hurried_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no test wait until controllers have been quiet for a while."""
    monkeypatch.setattr(asyncio.events, "new_event_loop", lambda: HurriedLoop(1000.0))
    monkeypatch.chdir(ROOT)


def test_every_question_is_shown() -> None:
    shown = {word for line in re.findall(r"^\$ stowplan whatif (.+)$", PAGE, re.MULTILINE) for word in line.split()}
    assert shown >= {"fits", "headroom", "drain", "add-nodes", "preempt", "--cheapest"}


# The JSON


def example() -> Cluster:
    read, cluster = file_cluster.read(["examples/cluster.yaml"]), Cluster(ties="upstream")
    cluster.add_all([*read.others, *read.nodes.values(), *read.pods.values()])
    return cluster


def test_the_answer_in_json_is_that_to_the_question_above_it() -> None:
    question, answer = blocks("json")
    assert msgspec.json.decode(answer) == json.loads(json.dumps(what_if.ask(example(), requests.read(question))))


def rows(heading: str) -> dict[str, list[Any]]:
    """Return what a table says can be written, by name."""
    _, _, table = PAGE.partition(f"| {heading} | written as |")
    found = re.findall(r"^\| `(\w+)` \| (.+?) \| ", table.partition("\n\n")[0], re.MULTILINE)
    filled = ((name, re.sub(r"\bPOD\b", json.dumps(POD), text)) for name, text in found)
    return {name: [json.loads(one) for one in re.findall(r"`(\{.+?\})`(?:, |$)", text)] for name, text in filled}


def test_the_page_has_every_step_and_each_can_be_taken() -> None:
    steps = rows("step")
    assert tuple(steps) == Step.__struct_encode_fields__
    for name, written in steps.items():
        assert written, name
        for one in written:
            asked = {"steps": [{name: one}], "question": {"fits": {"pods": [POD]}}}
            assert what_if.ask(example(), requests.read(json.dumps(asked)))["fits"]["pods"]


def test_the_page_has_every_question_with_all_its_fields_and_each_is_answered() -> None:
    questions = rows("question")
    assert tuple(questions) == AskedQuestion.__struct_encode_fields__
    _, _, table = PAGE.partition("| question | written as |")
    for name, (written,) in questions.items():
        if name == "fits":
            # A pod of one name is asked about once.
            written["everyNode"] = []
        found = what_if.ask(example(), requests.read(json.dumps({"question": {name: written}})))[name]
        told = re.search(rf"^\| `{name}` \| .+ \| (.+) \|$", table, re.MULTILINE)
        assert told is not None
        assert [field for field in found if f"`{field}`" not in told[1]] == []


def test_the_schema_is_that_of_the_classes() -> None:
    text = generate_whatif_schema.PAGE.read_text(encoding="utf-8")
    assert text == generate_whatif_schema.text(), "run `make docs-whatif`"


def test_the_schema_describes_all_of_its_parts() -> None:
    parts = generate_whatif_schema.schema()["$defs"]
    assert [name for name, part in parts.items() if not part.get("description")] == []


# What is told in words


def test_the_role_is_what_serving_asks_for() -> None:
    (role,) = blocks("yaml")
    assert yaml.safe_load(role)["rules"] == [{"nonResourceURLs": [WHATIF], "verbs": ["post"]}]


def test_limits_are_those_of_the_program() -> None:
    assert (MOST_BYTES, LONGEST_SECONDS, MOST_STEPS, MOST_NODES) == (8 * 2**20, 60.0, 10_000, 100_000)
    for words in ("longer than 8 MiB", "longer than 60 s", "10,000 steps", "100,000 nodes"):
        assert words in PAGE
