"""How workloads replace their pods: whatever of a strategy is there and whatever is not, it is taken or refused."""

from __future__ import annotations

import contextlib
import itertools

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.admission.doorstep import create, new_api, refusal_of_new
from tests.unit.embedded.given import resource

API = new_api()
TEMPLATE: Object = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
TYPES: list[Object] = [{}, *({"type": name} for name in ("", "RollingUpdate", "Recreate", "OnDelete", "Container"))]
AMOUNTS = (None, 0, "0%", "x", -1)
DAEMON_SETS = resource("daemonsets.apps")


def workload(**spec: object) -> Object:
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE, **spec}
    return {"metadata": {"name": "w"}, "spec": spec}


def strategies() -> list[Object]:
    rolling: list[Object | None] = [None, {}]
    for unavailable, surge, partition in itertools.product(AMOUNTS, AMOUNTS, (None, -1)):
        rolling.append({"maxUnavailable": unavailable, "maxSurge": surge, "partition": partition})
    return [{**kind, "rollingUpdate": each} for kind in TYPES for each in rolling]


@pytest.mark.parametrize(
    ("qualified", "field"),
    [
        ("deployments.apps", "strategy"),
        ("statefulsets.apps", "updateStrategy"),
        ("daemonsets.apps", "updateStrategy"),
        ("replicasets.apps", "strategy"),
        ("replicationcontrollers", "strategy"),
        ("jobs.batch", "podFailurePolicy"),
    ],
)
def test_nonsense_about_a_strategy_is_taken_or_refused(qualified: str, field: str) -> None:
    of = resource(qualified)
    for strategy in strategies():
        # Anything but a refusal ends the test.
        with contextlib.suppress(StatusError):
            create(API, of, workload(**{field: strategy}), is_dry_run=True)


def test_a_daemon_set_of_an_unknown_strategy_is_refused_for_that_alone() -> None:
    strategy = {"type": "Container", "rollingUpdate": {"maxUnavailable": 0}}
    error = refusal_of_new(API, DAEMON_SETS, workload(updateStrategy=strategy))
    causes = [(cause["field"], cause["reason"]) for cause in error.status()["details"]["causes"]]
    assert (error.code, causes) == (422, [("spec.updateStrategy", "FieldValueNotSupported")])


def test_how_a_daemon_set_would_roll_counts_nothing_where_it_does_not() -> None:
    strategy = {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 0}}
    made = create(API, DAEMON_SETS, workload(updateStrategy=strategy), is_dry_run=True)
    assert made["spec"]["updateStrategy"] == strategy
