"""The resource matrices: which row a name has, in which units, and what happens at the edges of an int64."""

from __future__ import annotations

import numpy as np
import pytest

from stowplan.model import requests
from stowplan.table.resources import (
    CPU,
    FIRST_SCALAR,
    LARGEST,
    MEMORY,
    MOST_AMOUNTS,
    NON_ZERO_CPU,
    NOWHERE,
    PODS,
    Resources,
)
from stowplan.testing import make_node, make_pod
from tests.unit.table.journal_marks import marks

GPU = "example.com/gpu"
MEBIBYTE = 1024 * 1024


def with_rows(count: int) -> Resources:
    resources = Resources(4)
    resources.fit(4, count)
    return resources


@pytest.mark.parametrize(
    ("name", "row"),
    [
        pytest.param("cpu", 0, id="cpu"),
        pytest.param("memory", 1, id="memory"),
        pytest.param("ephemeral-storage", 2, id="ephemeral storage"),
        pytest.param("pods", 3, id="pods"),
        pytest.param(GPU, NOWHERE, id="a resource that nobody has"),
    ],
)
def test_the_first_rows_are_fixed(name: str, row: int) -> None:
    assert with_rows(1).find(name) == row


def test_a_resource_that_nobody_has_reads_zero_and_is_not_remembered() -> None:
    resources = with_rows(2)
    assert resources.allocatable[resources.find(GPU)].tolist() == [0, 0]
    assert resources.requested[resources.find(GPU)].tolist() == [0, 0]
    assert GPU not in resources.index_of
    assert resources.names_journal.position == 0


def test_a_new_resource_gets_the_next_row_once() -> None:
    resources = with_rows(1)
    resources.write_node(0, make_node("n").capacity({GPU: 4}).build())
    assert resources.find(GPU) == FIRST_SCALAR
    assert resources.intern("hugepages-2Mi") == FIRST_SCALAR + 1
    assert resources.intern(GPU) == FIRST_SCALAR
    assert resources.allocatable[FIRST_SCALAR].tolist() == [4]
    assert resources.allocatable.shape == (FIRST_SCALAR + 2, 1)
    assert resources.names_journal.since(0) is None


def test_amounts_are_millicores_and_whole_units() -> None:
    resources = with_rows(1)
    resources.write_node(0, make_node("n").capacity(cpu="1500m", memory="2Ki", ephemeral_storage="1500m").build())
    assert resources.allocatable[:, 0].tolist() == [1500, 2048, 2, 110, 1500, 2048, 0]


def test_a_resource_of_no_known_family_is_not_counted() -> None:
    resources = with_rows(1)
    resources.write_node(0, make_node("n").capacity({"widgets": 3}).build())
    assert "widgets" not in resources.index_of


def test_what_a_node_no_longer_has_is_gone() -> None:
    resources = with_rows(1)
    resources.write_node(0, make_node("n").capacity({GPU: 4}, cpu=2).build())
    resources.write_node(0, make_node("n").capacity(cpu=2).build())
    assert resources.allocatable[resources.find(GPU), 0] == 0
    assert marks(resources.allocatable_journal, 0) == [0, 0]


def test_a_node_that_has_what_it_had_is_not_marked() -> None:
    resources = with_rows(1)
    resources.write_node(0, make_node("n").capacity(cpu="1").build())
    resources.write_node(0, make_node("n").capacity(cpu="1000m").build())
    assert marks(resources.allocatable_journal, 0) == [0]


def test_a_pod_counts_itself_and_at_least_something_for_scoring() -> None:
    amounts = with_rows(1).vector(requests.accounted(make_pod().build())).tolist()
    assert amounts == [0, 0, 0, 1, 100, 200 * MEBIBYTE]


def test_resources_that_a_pod_does_not_request_come_between_those_that_it_does() -> None:
    resources = with_rows(1)
    resources.intern("hugepages-2Mi")
    amounts = resources.vector(requests.accounted(make_pod().requests({GPU: 2}, cpu="1", memory="1Mi").build()))
    assert amounts.tolist() == [1000, MEBIBYTE, 0, 1, 1000, MEBIBYTE, 0, 0, 2]


def test_pods_are_added_and_taken_back() -> None:
    resources = with_rows(2)
    pod = make_pod().requests({GPU: 2}, cpu="250m", memory="1Mi").build()
    vector = resources.vector(requests.accounted(pod))
    resources.add(1, vector)
    resources.add(1, vector)
    assert resources.requested[[CPU, MEMORY, PODS, NON_ZERO_CPU], 1].tolist() == [500, 2 * MEBIBYTE, 2, 500]
    assert resources.requested[resources.find(GPU)].tolist() == [0, 4]
    resources.add(1, vector, np.subtract)
    assert resources.requested[:, 1].tolist() == [250, MEBIBYTE, 0, 1, 250, MEBIBYTE, 0, 2]
    assert marks(resources.requested_journal, 0) == [1, 1, 1]


@pytest.mark.parametrize(
    ("text", "milli_cpu", "amount"),
    [
        pytest.param("9223372036854775807", -1000, LARGEST, id="the largest, of which there are no thousandths"),
        pytest.param("1e30", 0, 0, id="a power of ten beyond"),
    ],
)
def test_amounts_beyond_an_int64_overflow_as_upstreams_do(text: str, milli_cpu: int, amount: int) -> None:
    resources = with_rows(1)
    resources.write_node(0, make_node("n").capacity({GPU: text}, memory=text, cpu=text).build())
    assert resources.allocatable[[CPU, MEMORY, resources.find(GPU)], 0].tolist() == [milli_cpu, amount, amount]
    taken = resources.vector(requests.accounted(make_pod().requests(memory=text, cpu=text).build()))
    assert taken[[CPU, MEMORY]].tolist() == [milli_cpu, amount]


def test_what_readers_see_cannot_be_written() -> None:
    resources = with_rows(1)
    for matrix in (resources.allocatable, resources.requested):
        with pytest.raises(ValueError, match="read-only"):
            matrix[0, 0] = 1


def test_amounts_stay_when_there_is_room_for_more_nodes_and_resources() -> None:
    resources = with_rows(1)
    resources.write_node(0, make_node("n").capacity(cpu="3").build())
    resources.fit(100, 60)
    resources.intern(GPU)
    assert resources.allocatable.shape == (FIRST_SCALAR + 1, 60)
    assert resources.allocatable[CPU, :3].tolist() == [3000, 0, 0]


def test_a_row_moves_with_all_it_has() -> None:
    resources = with_rows(2)
    resources.write_node(1, make_node("n").capacity(cpu="3").build())
    resources.add(1, resources.vector(requests.accounted(make_pod().requests(cpu="1").build())))
    resources.move(1, 0)
    resources.clear(1)
    assert resources.allocatable[CPU].tolist() == [3000, 0]
    assert resources.requested[CPU].tolist() == [1000, 0]


def test_plain_amounts_follow_what_happens_to_their_row() -> None:
    resources = with_rows(2)
    resources.write_node(0, make_node("n").capacity(cpu="3").build())
    pod = resources.vector(requests.accounted(make_pod().requests(cpu="1", memory="1Mi").build()))
    assert resources.amounts(0) == ([3000, 0, 0, 110, 3000, 0, 0], [0] * 7)
    resources.add(0, pod)
    assert resources.amounts(0)[1] == [1000, MEBIBYTE, 0, 1, 1000, MEBIBYTE, 0]
    resources.add(0, pod, np.subtract)
    assert resources.amounts(0)[1] == [0] * 7
    resources.write_node(0, make_node("n").capacity(cpu="4").build())
    assert resources.amounts(0)[0] == [4000, 0, 0, 110, 4000, 0, 0]
    resources.intern(GPU)
    assert resources.amounts(0)[1] == [0] * 8
    resources.move(1, 0)
    assert resources.amounts(0)[0] == [0] * 8
    resources.write_node(1, make_node("n").capacity(cpu="2").build())
    assert resources.amounts(1)[0][CPU] == 2000
    resources.clear(1)
    assert resources.amounts(1)[0] == [0] * 8


def test_plain_amounts_are_kept_of_a_few_rows_only() -> None:
    resources = Resources(MOST_AMOUNTS + 2)
    resources.fit(MOST_AMOUNTS + 2, MOST_AMOUNTS + 2)
    for row in range(MOST_AMOUNTS + 2):
        resources.write_node(row, make_node("n").capacity(cpu=row).build())
    assert [resources.amounts(row)[0][CPU] for row in range(MOST_AMOUNTS + 2)] == [
        1000 * row for row in range(MOST_AMOUNTS + 2)
    ]


def test_very_many_names_keep_their_amounts() -> None:
    resources = with_rows(2)
    names = [f"example.com/r{number}" for number in range(1000)]
    resources.write_node(1, make_node("n").capacity(dict.fromkeys(names, "7")).build())
    rows = [resources.find(name) for name in names]
    assert sorted(rows) == list(range(FIRST_SCALAR, FIRST_SCALAR + 1000))
    assert resources.allocatable.shape == (FIRST_SCALAR + 1000, 2)
    assert resources.allocatable[rows, 1].tolist() == [7] * 1000
    has, taken = resources.amounts(1)
    assert (len(has), len(taken)) == (FIRST_SCALAR + 1000, FIRST_SCALAR + 1000)
