"""Every field of a KubeSchedulerConfiguration changes what the scheduler does, is refused, or is told to do nothing.

The table has a row for every field there is; a field without one fails. A scheduler is made with the field and without
it, by the same way as `stowplan run` makes it, and looked at. The arguments of plugins have a table of their own.
"""

from __future__ import annotations

import base64
import importlib
import json
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stowplan.app.configuration import read_configuration
from stowplan.config.declarations import POINTS, camel
from stowplan.config.errors import ConfigError
from stowplan.config.load import Reading
from stowplan.framework.contract import (
    Bind,
    Filter,
    Permit,
    PlacementGenerate,
    PlacementScore,
    PodGroupPostFilter,
    PostBind,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    PreScore,
    QueueSort,
    Reserve,
    Score,
    refuse,
)
from stowplan.serving.certificates import self_signed
from tests.unit.app.made import Made, look_at
from tests.unit.app.schema_leaves import of_configuration
from tests.unit.config.writing import document


class Everywhere(
    PreEnqueue,
    QueueSort,
    PreFilter,
    Filter,
    PostFilter,
    PodGroupPostFilter,
    PlacementGenerate,
    PlacementScore,
    PreScore,
    Score,
    Reserve,
    Permit,
    PreBind,
    Bind,
    PostBind,
):
    """Takes part in everything, and says nothing."""

    async def pod_group_post_filter(self, attempt: Any) -> Any:
        return refuse("nothing")

    def placements(self, group: Any, nodes: Any, within: Any) -> Any:
        return ()

    def score_placements(self, group: Any, nodes: Any, found: Any) -> Any:
        return [0 for _ in found]

    def pre_enqueue(self, pod: Any) -> None: ...

    def sort_key(self, pod: Any, queued_at: float) -> Any:
        return queued_at

    def pre_filter(self, pod: Any, nodes: Any) -> None: ...

    def filter(self, pod: Any, nodes: Any, state: Any) -> Iterator[Any]:
        yield from ()

    def post_filter(self, pod: Any, attempt: Any) -> Any:
        return refuse("no")

    def pre_score(self, pod: Any, nodes: Any) -> None: ...

    def score(self, pod: Any, nodes: Any, state: Any) -> Any:
        return nodes.allocatable[0] * 0

    def reserve(self, pod: Any, node_name: str) -> None: ...

    def unreserve(self, pod: Any, node_name: str) -> None: ...

    def permit(self, pod: Any, node_name: str) -> None: ...

    async def pre_bind(self, pod: Any, node_name: str) -> None: ...

    async def bind(self, pod: Any, node_name: str) -> None: ...

    async def post_bind(self, pod: Any, node_name: str) -> None: ...


@dataclass
class Acts:
    """With the fields, something is as expected; with those beside alone it is not."""

    fields: dict[str, Any]
    look: Callable[[Made], Any]
    expected: Any
    beside: dict[str, Any]

    def __init__(self, fields: dict[str, Any], look: Callable[[Made], Any], expected: Any, **beside: Any) -> None:
        self.fields, self.look, self.expected, self.beside = fields, look, expected, beside


@dataclass
class Said:
    fields: dict[str, Any]
    note: str


@dataclass
class Refused:
    fields: dict[str, Any]
    message: str


@dataclass
class Shown:
    """Another test shows the effect."""

    test: str


def elector(made: Made) -> Any:
    return made.live._elector


def election(name: str, value: Any, look: Callable[[Made], Any], expected: Any) -> Acts:
    return Acts({"leaderElection": {name: value}}, look, expected)


def client(name: str, value: Any, look: Callable[[Made], Any], expected: Any) -> Acts:
    return Acts({"clientConnection": {name: value}}, look, expected)


def server_of(made: Made) -> str:
    return str(made.client._pool._credentials.server)  # type: ignore[attr-defined]


# Profiles

NAME = f"{__name__}:Everywhere"
ON: dict[str, Any] = {"enabled": [{"name": NAME}]}


def profile(**fields: Any) -> dict[str, Any]:
    return {"profiles": [fields]}


def names_at(point: str) -> Callable[[Made], bool]:
    def look(made: Made) -> bool:
        found = getattr(made.profile, point)
        return "Everywhere" in [(one[0] if point in ("score", "placement_score") else one).name for one in found]

    return look


def points_of_profile() -> dict[str, Acts | Said]:
    """Make the rows of all extension points: who is enabled, with which weight, and who is not."""
    rows: dict[str, Acts | Said] = {}
    for point in (*POINTS, "multi_point"):
        path = f"profiles[].plugins.{camel(point)}"
        rows[f"{path}.enabled[].name"] = _enabling(point)
        rows[f"{path}.enabled[].weight"] = _weighing(point)
        rows[f"{path}.disabled[].name"] = _disabling(point)
        rows[f"{path}.disabled[].weight"] = Said(
            profile(plugins={camel(point): {"disabled": [{"name": "ImageLocality", "weight": 3}]}}),
            "the weight of 'ImageLocality' has no effect: it is disabled",
        )
    return rows


def _enabling(point: str) -> Acts | Said:
    if point == "multi_point":
        plugins = {"multiPoint": ON, "queueSort": {"disabled": [{"name": "PrioritySort"}]}}
        return Acts(profile(plugins=plugins), names_at("filter"), True)
    off = {"disabled": [{"name": "*"}]} if point == "queue_sort" else {}
    return Acts(profile(plugins={camel(point): {**ON, **off}}), names_at(point), True)


def _weighing(point: str) -> Acts | Said:
    if point in ("score", "multi_point"):
        weighed = {"enabled": [{"name": "ImageLocality", "weight": 7}]}
        return Acts(profile(plugins={camel(point): weighed}), _weight_of_images, 7)
    if point == "placement_score":
        weighed = {"enabled": [{"name": "NodeResourcesFit", "weight": 7}]}
        return Acts(profile(plugins={camel(point): weighed}), _weight_of_placements, 7)
    off: dict[str, Any] = {"disabled": [{"name": "*"}]} if point == "queue_sort" else {}
    listed = {"enabled": [{"name": NAME, "weight": 7}], **off}
    return Said(profile(plugins={camel(point): listed}), f"the weight of {NAME!r} has no effect: it does not score")


def _weight_of_images(made: Made) -> int:
    [weight] = [weight for plugin, weight in made.profile.score if plugin.name == "ImageLocality"]
    return weight


def _weight_of_placements(made: Made) -> int:
    [weight] = [weight for plugin, weight in made.profile.placement_score if plugin.name == "NodeResourcesFit"]
    return weight


def _disabling(point: str) -> Acts | Said:
    if point == "multi_point":
        off = {"multiPoint": {"disabled": [{"name": "ImageLocality"}]}}
        names: Callable[[Made], Any] = lambda made: "ImageLocality" in [one.name for one, _ in made.profile.score]  # noqa: E731
        return Acts(profile(plugins=off), names, False)
    others = {"queueSort": {"disabled": [{"name": "PrioritySort"}]}} if point != "queue_sort" else {}
    both = {"multiPoint": ON, **others}
    if point == "queue_sort":
        # One must sort: with ours in all places the usual one has to go, and the other way round.
        usual = {"multiPoint": ON, "queueSort": {"disabled": [{"name": NAME}]}}
        ours = profile(plugins={"multiPoint": ON, "queueSort": {"disabled": [{"name": "PrioritySort"}]}})
        return Acts(profile(plugins=usual), names_at(point), False, **ours)
    off = {**both, camel(point): {**both.get(camel(point), {}), "disabled": [{"name": NAME}]}}
    return Acts(profile(plugins=off), names_at(point), False, **profile(plugins=both))


# Extenders

CERT, KEY = (pem.decode() for pem in self_signed())
CERT64, KEY64 = (base64.b64encode(text.encode()).decode() for text in (CERT, KEY))
URL = "https://127.0.0.1:1/extend"


def extender_of(made: Made) -> Any:
    return made.replica.cluster.extenders[0]


def extender(name: str, value: Any, look: Callable[[Any], Any], expected: Any, **beside: Any) -> Acts:
    usual = {"urlPrefix": URL, "filterVerb": "filter", **beside}
    changed = {**usual, name: value}
    return Acts({"extenders": [changed]}, lambda made: look(extender_of(made)), expected, extenders=[usual])


def trust_of(found: Any) -> Any:
    return found._transport._trust


def is_known_there(found: Any) -> bool:
    trust = trust_of(found)
    return isinstance(trust, ssl.SSLContext) and bool(trust.get_ca_certs())


def tls(name: str, value: str, look: Callable[[Any], Any], expected: Any, **beside: str) -> Acts:
    fields = {"tlsConfig": {**beside, name: value}}
    usual = {"urlPrefix": URL, "filterVerb": "filter", "tlsConfig": beside}
    return Acts({"extenders": [{**usual, **fields}]}, lambda made: look(extender_of(made)), expected, extenders=[usual])


def shows_a_certificate(found: Any) -> bool:
    return isinstance(trust_of(found), ssl.SSLContext)


def ignored_resources(made: Made) -> Any:
    [fit] = [plugin for plugin in made.profile.filter if plugin.name == "NodeResourcesFit"]
    return fit._ignored  # type: ignore[attr-defined]


SELF = "tests.unit.app.test_every_field_acts"
EXTENDER_TESTS = "tests.integration.test_extender_process"

ROWS: dict[str, Acts | Said | Refused | Shown] = {
    "parallelism": Acts(
        {"parallelism": 1}, lambda made: type(made.replica.cluster.field.ties).__name__, "UpstreamOrder"
    ),
    "leaderElection.leaderElect": election("leaderElect", False, elector, None),
    "leaderElection.leaseDuration": election("leaseDuration", "40s", lambda m: elector(m)._timing.lease_duration, 40),
    "leaderElection.renewDeadline": election("renewDeadline", "9s", lambda m: elector(m)._timing.renew_deadline, 9),
    "leaderElection.retryPeriod": election("retryPeriod", "3s", lambda m: elector(m)._timing.retry_period, 3),
    "leaderElection.resourceLock": Refused(
        {"leaderElection": {"resourceLock": "endpoints"}}, 'resourceLock value must be "leases"'
    ),
    "leaderElection.resourceName": election("resourceName", "mine", lambda m: elector(m)._lock._name, "mine"),
    "leaderElection.resourceNamespace": election(
        "resourceNamespace", "mine", lambda m: elector(m)._lock._namespace, "mine"
    ),
    "clientConnection.kubeconfig": Shown(f"{SELF}:test_the_kubeconfig_of_the_configuration_is_read"),
    "clientConnection.acceptContentTypes": Said(
        {"clientConnection": {"acceptContentTypes": "application/cbor"}}, "answers are asked for as application/json"
    ),
    "clientConnection.contentType": client("contentType", "application/json", lambda m: m.client.writes_binary, False),
    "clientConnection.qps": client("qps", 7, lambda m: m.bucket._qps, 7),
    "clientConnection.burst": client("burst", 7, lambda m: m.bucket._burst, 7),
    "enableProfiling": Acts({"enableProfiling": False}, lambda made: made.live._pages().set_verbosity, None),
    "enableContentionProfiling": Said({"enableContentionProfiling": True}, "Python has no such profile"),
    "percentageOfNodesToScore": Acts(
        {"percentageOfNodesToScore": 40}, lambda m: m.replica.cluster.field.percentage_of_nodes_to_score, 40
    ),
    "podInitialBackoffSeconds": Acts(
        {"podInitialBackoffSeconds": 4}, lambda made: made.replica.limits.initial_backoff_seconds, 4
    ),
    "podMaxBackoffSeconds": Acts(
        {"podMaxBackoffSeconds": 40}, lambda made: made.replica.limits.max_backoff_seconds, 40
    ),
    "delayCacheUntilActive": Shown("tests.unit.app.test_live:test_who_is_to_wait_knows_nothing_until_it_leads"),
    "profiles[].schedulerName": Acts(profile(schedulerName="mine"), lambda made: made.profile.name, "mine"),
    "profiles[].percentageOfNodesToScore": Acts(
        profile(percentageOfNodesToScore=40), lambda made: made.profile.percentage_of_nodes_to_score, 40
    ),
    "profiles[].pluginConfig[].name": Said(
        profile(pluginConfig=[{"name": "NodeAfinity", "args": {}}]), "did you mean NodeAffinity or InterPodAffinity?"
    ),
    "profiles[].pluginConfig[].args": Shown("tests.unit.app.test_every_argument_acts:test_an_argument_acts"),
    **points_of_profile(),
    "extenders[].urlPrefix": extender("urlPrefix", "http://e/x", lambda e: e._transport._prefix, "http://e/x"),
    "extenders[].filterVerb": extender("filterVerb", "", lambda e: e.is_filter, False, bindVerb="b"),
    "extenders[].preemptVerb": extender("preemptVerb", "p", lambda e: e.is_preemptor, True),
    "extenders[].prioritizeVerb": extender("prioritizeVerb", "p", lambda e: e.is_prioritizer, True, weight=1),
    "extenders[].weight": Shown("tests.unit.extender.test_client:test_scores_are_weighted"),
    "extenders[].bindVerb": extender("bindVerb", "b", lambda e: e.is_binder, True),
    "extenders[].enableHTTPS": extender("enableHTTPS", True, shows_a_certificate, True),
    "extenders[].tlsConfig.insecure": tls("insecure", True, shows_a_certificate, True),  # type: ignore[arg-type]
    "extenders[].tlsConfig.serverName": tls("serverName", "e", lambda e: e._transport._server_name, "e"),
    "extenders[].tlsConfig.certFile": tls("certFile", "CERT", shows_a_certificate, True, keyFile="KEY"),
    "extenders[].tlsConfig.keyFile": tls("keyFile", "KEY", shows_a_certificate, True, certFile="CERT"),
    "extenders[].tlsConfig.caFile": tls("caFile", "CERT", is_known_there, True),
    "extenders[].tlsConfig.certData": tls("certData", CERT64, shows_a_certificate, True, keyData=KEY64),
    "extenders[].tlsConfig.keyData": tls("keyData", KEY64, shows_a_certificate, True, certData=CERT64),
    "extenders[].tlsConfig.caData": tls("caData", CERT64, is_known_there, True),
    "extenders[].httpTimeout": extender("httpTimeout", "3s", lambda e: e._transport._timeout.seconds, 3),
    "extenders[].nodeCacheCapable": Shown(
        "tests.unit.extender.test_client:test_the_form_of_the_request_follows_what_the_extender_knows"
    ),
    "extenders[].managedResources[].name": extender(
        "managedResources", [{"name": "a.com/b"}], lambda e: e._managed, frozenset({"a.com/b"})
    ),
    "extenders[].managedResources[].ignoredByScheduler": Acts(
        {"extenders": [{"urlPrefix": URL, "managedResources": [{"name": "a.com/b", "ignoredByScheduler": True}]}]},
        ignored_resources,
        frozenset({"a.com/b"}),
        extenders=[{"urlPrefix": URL, "managedResources": [{"name": "a.com/b"}]}],
    ),
    "extenders[].ignorable": extender("ignorable", True, lambda e: e.is_ignorable, True),
}


def of_kind(kind: type) -> list[Any]:
    return [pytest.param(row, id=name) for name, row in ROWS.items() if isinstance(row, kind)]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "cert.pem").write_text(CERT)
    (tmp_path / "key.pem").write_text(KEY)
    return {'"CERT"': f'"{tmp_path}/cert.pem"', '"KEY"': f'"{tmp_path}/key.pem"'}


def text_of(fields: dict[str, Any], files: dict[str, str]) -> str:
    text = json.dumps(document(**fields))
    for word, path in files.items():
        text = text.replace(word, path)
    return text


def test_every_field_has_a_row() -> None:
    assert ROWS.keys() == of_configuration()


@pytest.mark.parametrize("row", of_kind(Acts))
def test_a_field_acts(row: Acts, files: dict[str, str]) -> None:
    with_it = text_of({**row.beside, **row.fields}, files)
    assert look_at((f"--config-text={with_it}",), row.look) == row.expected
    assert look_at((f"--config-text={text_of(row.beside, files)}",), row.look) != row.expected


@pytest.mark.parametrize("row", of_kind(Said))
def test_a_field_that_does_nothing_is_told(row: Said) -> None:
    told: list[str] = []
    read_configuration(json.dumps(document(**row.fields)), reading=Reading(tell=told.append))
    assert [note for note in told if row.note in note], told


@pytest.mark.parametrize("row", of_kind(Refused))
def test_a_field_is_refused(row: Refused) -> None:
    with pytest.raises(ConfigError) as refused:
        read_configuration(json.dumps(document(**row.fields)))
    assert row.message in str(refused.value)


@pytest.mark.parametrize("row", of_kind(Shown))
def test_the_test_that_shows_a_field_is_there(row: Shown) -> None:
    module, _, name = row.test.partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_the_kubeconfig_of_the_configuration_is_read(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(
        'apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: "http://10.0.0.2:80"}}]\n'
        "users: [{name: u, user: {}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"
    )
    text = json.dumps(document(clientConnection={"kubeconfig": str(path)}))
    assert look_at((f"--config-text={text}", "--master="), server_of) == "http://10.0.0.2:80"
