"""What a configuration says without effect is told, by profile, field and remedy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stowplan.config.load import Reading
from tests.known_plugins import load
from tests.unit.config.writing import document, with_plugins


def told_of(value: dict[str, Any]) -> list[str]:
    told: list[str] = []
    load(json.dumps(value), reading=Reading(tell=told.append))
    return told


def with_config(name: str, **profile: Any) -> dict[str, Any]:
    given = {"schedulerName": "a", "pluginConfig": [{"name": name, "args": {}}], **profile}
    return document(profiles=[given])


WITHOUT_SPREAD = {"multiPoint": {"disabled": [{"name": "PodTopologySpread"}]}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(
            with_config("NodeResourceFit"),
            "profile 'a': pluginConfig[0]: arguments of 'NodeResourceFit' have no effect:"
            " there is no such plugin; did you mean NodeResourcesFit?",
            id="arguments under a misspelled name",
        ),
        pytest.param(
            with_config("PodTopologySpread", plugins=WITHOUT_SPREAD),
            "profile 'a': pluginConfig[0]: arguments of 'PodTopologySpread' have no effect:"
            " the profile does not enable that plugin; enable it, or remove them",
            id="arguments of a plugin that is disabled",
        ),
        pytest.param(
            with_plugins(score={"disabled": [{"name": "ImageLocalty"}]}),
            "profile 'a': plugins.score.disabled[0]: there is no plugin 'ImageLocalty' to disable;"
            " did you mean ImageLocality?",
            id="disabling a plugin under a misspelled name",
        ),
        pytest.param(
            with_plugins(multiPoint={"disabled": [{"name": "EBSLimits"}]}),
            "profile 'a': plugins.multiPoint.disabled[0]: there is no plugin 'EBSLimits' to disable;"
            " EBSLimits is gone: write NodeVolumeLimits instead, or give --legacy-config to have the file converted",
            id="disabling a plugin that is gone",
        ),
        pytest.param(
            with_plugins(filter={"enabled": [{"name": "NodePorts", "weight": 4}]}),
            "profile 'a': plugins.filter.enabled[0]: the weight of 'NodePorts' has no effect: it does not score",
            id="a weight at a point that weighs nothing",
        ),
        pytest.param(
            with_plugins(multiPoint={"enabled": [{"name": "NodePorts", "weight": 4}]}),
            "profile 'a': plugins.multiPoint.enabled[0]: the weight of 'NodePorts' has no effect: it does not score",
            id="a weight of a plugin that never scores",
        ),
        pytest.param(
            document(parallelism=8),
            "parallelism: 8 has no effect:"
            " one thread decides; only 1 makes a difference, by taking the first of equally good nodes",
            id="parallelism",
        ),
        pytest.param(
            document(enableContentionProfiling=False),
            "enableContentionProfiling has no effect: Python has no such profile",
            id="contention profiling",
        ),
        pytest.param(
            document(leaderElection={"leaderElect": False}, delayCacheUntilActive=True),
            "delayCacheUntilActive has no effect without leaderElection.leaderElect: the scheduler is always active",
            id="a delay until something that always is",
        ),
        pytest.param(
            document(clientConnection={"contentType": "application/cbor"}),
            "clientConnection.contentType 'application/cbor' has no effect: write application/json or"
            " application/vnd.kubernetes.protobuf; application/json is used",
            id="a content type that is not written",
        ),
        pytest.param(
            document(clientConnection={"acceptContentTypes": "application/cbor"}),
            "clientConnection.acceptContentTypes 'application/cbor' has no effect:"
            " answers are asked for as application/json",
            id="a content type that is not read",
        ),
        pytest.param(
            document(extenders=[{"urlPrefix": "http://e"}]),
            "extenders[0] (http://e): it is never asked: give it a filterVerb, prioritizeVerb, preemptVerb or bindVerb",
            id="an extender without a verb",
        ),
        pytest.param(
            document(extenders=[{"urlPrefix": "http://e", "filterVerb": "filter", "weight": 3}]),
            "extenders[0] (http://e): its weight has no effect without a prioritizeVerb",
            id="the weight of an extender that does not prioritize",
        ),
        pytest.param(
            document(extenders=[{"filterVerb": "filter"}]),
            "extenders[0]: it cannot be reached: urlPrefix is empty; write one like https://HOST:PORT/PATH",
            id="an extender without an address",
        ),
        pytest.param(
            document(extenders=[{"urlPrefix": "gpu.svc:8080/x", "filterVerb": "filter"}]),
            "extenders[0] (gpu.svc:8080/x): it cannot be reached: urlPrefix does not begin with http:// or https://;"
            " write one like https://HOST:PORT/PATH",
            id="an address without a scheme",
        ),
        pytest.param(
            document(extenders=[{"urlPrefix": "ftp://gpu.svc", "filterVerb": "filter"}]),
            "extenders[0] (ftp://gpu.svc): it cannot be reached: urlPrefix does not begin with http:// or https://;"
            " write one like https://HOST:PORT/PATH",
            id="an address of another scheme",
        ),
        pytest.param(
            document(extenders=[{"urlPrefix": "http://e", "filterVerb": "filter", "enableHTTPS": True}]),
            "extenders[0] (http://e): enableHTTPS has no effect: urlPrefix decides, and begins with http://;"
            " write https:// there",
            id="HTTPS at an address of HTTP",
        ),
        pytest.param(
            with_plugins(filter={"disabled": [{"name": "ImageLocality"}]}),
            "profile 'a': plugins.filter.disabled[0]: 'ImageLocality' does nothing there anyway:"
            " it takes part in score",
            id="disabling a plugin where it takes no part",
        ),
    ],
)
def test_what_has_no_effect_is_told(value: dict[str, Any], expected: str) -> None:
    assert told_of(value) == [expected]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(document(), id="nothing given"),
        pytest.param(document(parallelism=1), id="parallelism that decides ties"),
        pytest.param(document(parallelism=16), id="the default spelled out"),
        pytest.param(with_config("InterPodAffinity"), id="arguments of a default plugin"),
        pytest.param(
            with_plugins(
                multiPoint={"disabled": [{"name": "*"}]},
                queueSort={"enabled": [{"name": "PrioritySort"}]},
                bind={"enabled": [{"name": "DefaultBinder"}]},
            ),
            id="all disabled",
        ),
        pytest.param(
            with_plugins(score={"enabled": [{"name": "ImageLocality", "weight": 4}]}), id="a weight that counts"
        ),
        pytest.param(document(clientConnection={"contentType": "application/json"}), id="JSON"),
        pytest.param(with_plugins(score={"disabled": [{"name": "ImageLocality"}]}), id="disabling where it takes part"),
        pytest.param(
            document(extenders=[{"urlPrefix": "HTTPS://e", "filterVerb": "filter", "enableHTTPS": True}]),
            id="an extender that can be reached",
        ),
    ],
)
def test_what_has_an_effect_is_not_told(value: dict[str, Any]) -> None:
    assert told_of(value) == []
