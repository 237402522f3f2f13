"""What the store keeps of an object."""

import tracemalloc
from typing import Any

from stowplan.embedded.storage import stored
from stowplan.embedded.storage.catalogue import built_in


def config_map(lines: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "large", "namespace": "default", "resourceVersion": "7"},
        "data": {f"line-{number}": 50 * "x" for number in range(lines)},
    }


def test_objects_take_the_room_of_their_json_and_little_more() -> None:
    resource = built_in("", "configmaps")
    # Of many lengths: to some of them the encoder's buffer fits by chance.
    maps = [config_map(lines) for lines in range(100, 400, 10)]
    stored.keep(resource, maps[0])
    tracemalloc.start()
    try:
        kept = [stored.keep(resource, each) for each in maps]
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    written = sum(len(each.body) for each in kept)
    assert taken < 1.05 * written
