"""InterPodAffinity as a score: weights of preferred terms, both ways, and their normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stowplan.framework.contract import SKIP
from stowplan.model.pod import Pod
from stowplan.plugins.interpodaffinity.plugin import PreferredTerms
from tests.unit.plugins.affinity_cluster import (
    HOST,
    ZONE,
    Cluster,
    Placed,
    make_pod,
    preferred,
    required,
    selector,
    term,
    web,
)


@pytest.mark.parametrize(
    ("placed", "pod", "expected"),
    [
        pytest.param(
            [("a1", make_pod("web")), ("a2", make_pod("web")), ("b1", make_pod("web"))],
            make_pod("db", near=preferred((10, web()))),
            [20, 20, 10, 0],
            id="every matching pod in the zone adds the weight",
        ),
        pytest.param(
            [("a1", make_pod("web"))],
            make_pod("db", away=preferred((10, web(HOST)))),
            [-10, 0, 0, 0],
            id="anti-affinity subtracts it",
        ),
        pytest.param(
            [("a1", make_pod("web")), ("b1", make_pod("cache"))],
            make_pod(
                "db", near=preferred((3, web()), (5, web(HOST))), away=preferred((2, term(ZONE, selector(app="cache"))))
            ),
            [8, 3, -2, 0],
            id="terms of all keys add up",
        ),
        pytest.param(
            [("a1", make_pod("db", near=preferred((7, web())))), ("b1", make_pod("db", away=preferred((4, web()))))],
            make_pod("web"),
            [7, 7, -4, 0],
            id="preferences of placed pods count for a pod without any",
        ),
        pytest.param(
            [("a1", make_pod("db", near=required(web()))), ("a1", make_pod("db", near=required(web())))],
            make_pod("web"),
            [2, 2, 0, 0],
            id="required affinity of placed pods counts one each",
        ),
        pytest.param(
            [("a1", make_pod("db", away=required(web())))],
            make_pod("web"),
            SKIP,
            id="required anti-affinity of placed pods does not score",
        ),
        pytest.param(
            [("a1", make_pod("db", near=preferred((5, web())))), ("a2", make_pod("db", away=preferred((5, web()))))],
            make_pod("web"),
            [0, 0, 0, 0],
            id="weights that cancel each other are scored all the same",
        ),
        pytest.param(
            [("a1", make_pod("cache"))],
            make_pod("db", near=preferred((5, web()))),
            SKIP,
            id="preferences that no pod meets are not scored",
        ),
        pytest.param(
            [
                ("nowhere", make_pod("web")),
                ("nowhere", make_pod("api", near=preferred((5, term(ZONE, selector(app="db")))))),
            ],
            make_pod("db", near=preferred((5, web()))),
            SKIP,
            id="pods on nodes without the topology label are not scored",
        ),
        pytest.param([], make_pod("db"), SKIP, id="nobody has terms"),
    ],
)
def test_raw_scores(placed: Placed, pod: Pod, expected: object) -> None:
    assert Cluster(placed).scores(pod) == expected


HARD = [("a1", make_pod("db", near=required(web()))), ("b1", make_pod("db", near=preferred((9, web()))))]


@pytest.mark.parametrize(
    ("arguments", "pod", "expected"),
    [
        pytest.param({"hard_pod_affinity_weight": 50}, make_pod("web"), [50, 50, 9, 0], id="a weight of one's own"),
        pytest.param({"hard_pod_affinity_weight": 0}, make_pod("web"), [0, 0, 9, 0], id="no weight: not counted"),
        pytest.param(
            {"ignore_preferred_terms_of_existing_pods": True}, make_pod("web"), SKIP, id="pods without preferences skip"
        ),
        pytest.param(
            {"ignore_preferred_terms_of_existing_pods": True},
            make_pod("web", near=required(term(ZONE, selector(app="db")))),
            SKIP,
            id="required terms are no preferences",
        ),
        pytest.param(
            {"ignore_preferred_terms_of_existing_pods": True},
            make_pod("web", near=preferred((2, term(ZONE, selector(app="none"))))),
            [1, 1, 9, 0],
            id="with preferences of its own, those of others count too",
        ),
    ],
)
def test_arguments(arguments: dict[str, Any], pod: Pod, expected: object) -> None:
    assert Cluster(HARD, **arguments).scores(pod) == expected


def test_no_weight_and_only_required_affinity_is_not_scored() -> None:
    assert Cluster(HARD[:1], hard_pod_affinity_weight=0).scores(make_pod("web")) is SKIP


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param([0, 50, 100], [0, 50, 100], id="already from 0 to 100"),
        pytest.param([-10, 0, 10], [0, 50, 100], id="the lowest becomes 0"),
        pytest.param([0, 1, 2, 3], [0, 33, 66, 100], id="fractions are cut off"),
        pytest.param([0, 29, 100], [0, 28, 100], id="29 of 100 is a little less than 29 in binary"),
        pytest.param([7, 7], [0, 0], id="all equal means 0 for all"),
    ],
)
def test_normalized_scores(scores: list[int], expected: list[int]) -> None:
    normalized = Cluster([]).plugin.normalize(np.array(scores), min(scores), max(scores), PreferredTerms(()))
    assert normalized.tolist() == expected
    assert normalized.dtype == np.int64


def test_hypothetical_rows_are_worlds_of_their_own() -> None:
    cluster = Cluster([("a1", make_pod("web")), ("b1", make_pod("web"))])
    fan = make_pod("fan", near=preferred((7, term(ZONE, selector(app="db")))))
    changes = {"a1": ([], [make_pod("web")]), "a2": ([make_pod("web")], []), "b1": ([fan], [])}
    pod = make_pod("db", near=preferred((10, web())))
    assert cluster.scores(pod, lambda: cluster.suppose(changes)) == [0, 20, 17]


def test_a_few_rows_get_the_scores_they_get_among_all() -> None:
    cluster = Cluster([("a1", make_pod("web")), ("b1", make_pod("web")), ("b1", make_pod("web"))])
    pod = make_pod("db", near=preferred((10, web()), (1, web(HOST))))
    assert cluster.scores(pod) == [11, 10, 22, 0]
    assert cluster.scores(pod, lambda: cluster.few("nowhere", "b1")) == [0, 22]
