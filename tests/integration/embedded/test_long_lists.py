"""Very many objects are listed and deleted while others are served, and the list is of one moment."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from stowplan.embedded.http.authentication import Authenticator
from stowplan.embedded.http.verbs import Verbs
from stowplan.embedded.identity.service_tokens import Signer, new_key
from stowplan.embedded.requests.incoming import Answer, Incoming, Later
from tests.integration.embedded.running import make_api, make_namespace
from tests.integration.embedded.talking import CONFIG_MAPS

COUNT = 5000
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture
def verbs() -> Verbs:
    api = make_api()
    make_namespace(api, "default")
    resource = api.catalogue.find("", "v1", "configmaps")
    assert resource is not None
    for number in range(COUNT):
        metadata = {"name": f"map-{number:04}", "labels": {"parity": "odd" if number % 2 else "even"}}
        api.create(resource, "default", {"metadata": metadata})
    return Verbs(api, Authenticator(api, Signer(new_key())))


def ask(verbs: Verbs, method: str, accept: str = "", **query: str) -> tuple[Any, int]:
    """Ask for what is answered later; return the answer, and how often others had their turn meanwhile."""
    later = verbs.answer(Incoming(method, CONFIG_MAPS, query, accept))
    assert isinstance(later, Later)
    turns = 0

    async def story() -> Answer:
        nonlocal turns
        work = asyncio.ensure_future(later.work())
        while not work.done():
            turns += 1
            await asyncio.sleep(0)
            if turns == 2:
                # What comes or goes now is not in the list any more.
                verbs.answer(Incoming("DELETE", f"{CONFIG_MAPS}/map-4999"))
        return work.result()

    return json.loads(asyncio.run(story()).body), turns


def names(items: list[Any]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


def test_a_long_list_is_of_one_moment_and_made_by_turns(verbs: Verbs) -> None:
    content, turns = ask(verbs, "GET")
    assert names(content["items"]) == [f"map-{number:04}" for number in range(COUNT)]
    assert turns > COUNT / 250


def test_so_is_one_of_what_is_selected(verbs: Verbs) -> None:
    content, turns = ask(verbs, "GET", labelSelector="parity=odd")
    assert names(content["items"]) == [f"map-{number:04}" for number in range(1, COUNT, 2)]
    assert turns > 10


def test_so_is_a_page_of_what_is_selected(verbs: Verbs) -> None:
    content, _ = ask(verbs, "GET", labelSelector="parity=odd", limit="2")
    assert names(content["items"]) == ["map-0001", "map-0003"]
    answer = verbs.answer(Incoming("GET", CONFIG_MAPS, {"limit": "2", "continue": content["metadata"]["continue"]}))
    assert isinstance(answer, Answer)
    assert names(json.loads(answer.body)["items"]) == ["map-0004", "map-0005"]


def test_so_is_a_table(verbs: Verbs) -> None:
    content, turns = ask(verbs, "GET", TABLE)
    assert [row["cells"][0] for row in content["rows"]] == [f"map-{number:04}" for number in range(COUNT)]
    assert content["columnDefinitions"][0]["name"] == "Name"
    assert turns > COUNT / 250


def test_very_many_are_deleted_by_turns(verbs: Verbs) -> None:
    content, turns = ask(verbs, "DELETE")
    assert len(content["items"]) == COUNT
    assert turns > COUNT / 60
    left = verbs.answer(Incoming("GET", CONFIG_MAPS))
    assert isinstance(left, Answer)
    assert json.loads(left.body)["items"] == []


def test_a_page_of_everything_is_answered_at_once(verbs: Verbs) -> None:
    assert isinstance(verbs.answer(Incoming("GET", CONFIG_MAPS, {"limit": "500"})), Answer)
