"""An informer of the official client, through thousands of changes: no event lost, none told twice."""

from __future__ import annotations

import random
import threading
from collections import Counter
from typing import Any

import pytest
from kubernetes import client, watch

from tests.examples import examples
from tests.integration.embedded.running import Cluster
from tests.integration.embedded.talking import CONFIG_MAPS, Caller, config_map

CHANGES = examples(10_000)
WRITERS = 4


def make_changes(port: int, seed: int, counts: Counter[str]) -> None:
    """Create, change and delete at random, and count what was acknowledged."""
    caller, draw, alive = Caller(port), random.Random(seed), 0
    for number in range(CHANGES // WRITERS):
        action = draw.choice(["create", "update", "delete"]) if alive else "create"
        name = f"w{seed}-{draw.randrange(alive) if alive else 0}"
        match action:
            case "create":
                reply = caller.post(CONFIG_MAPS, config_map(f"w{seed}-{alive}", str(number)))
                alive += 1
            case "update":
                reply = caller.put(f"{CONFIG_MAPS}/{name}", config_map(name, str(number)))
            case _:
                alive -= 1
                reply = caller.delete(f"{CONFIG_MAPS}/w{seed}-{alive}")
        assert reply.code in (200, 201), reply.text
        counts[action] += 1
    caller.close()


@pytest.mark.at_length
def test_an_informer_hears_every_change_once(cluster: Cluster) -> None:
    # The client's types say less than it does.
    api: Any = client.CoreV1Api(client.ApiClient(client.Configuration(host=cluster.url)))
    began = api.list_namespaced_config_map("default").metadata.resource_version
    counts: Counter[str] = Counter()
    writers = [threading.Thread(target=make_changes, args=(cluster.port, seed, counts)) for seed in range(WRITERS)]
    for writer in writers:
        writer.start()
    known: dict[str, Any] = {}
    heard: Counter[str] = Counter()
    versions: list[int] = []
    make_watch: Any = watch.Watch
    stream = make_watch()
    for event in stream.stream(api.list_namespaced_config_map, "default", resource_version=began, timeout_seconds=3600):
        metadata = event["object"].metadata
        versions.append(int(metadata.resource_version))
        heard[event["type"]] += 1
        if event["type"] == "DELETED":
            known.pop(metadata.name)
        else:
            assert (event["type"] == "ADDED") == (metadata.name not in known)
            known[metadata.name] = event["object"].data
        if sum(heard.values()) == CHANGES:
            stream.stop()
    for writer in writers:
        writer.join()
    assert versions == sorted(set(versions))
    assert heard == {"ADDED": counts["create"], "MODIFIED": counts["update"], "DELETED": counts["delete"]}
    recount = {item.metadata.name: item.data for item in api.list_namespaced_config_map("default").items}
    assert known == recount
