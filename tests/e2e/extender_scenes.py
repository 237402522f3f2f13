"""Small clusters in which an extender has a say about a pod called `wanted`, one for each thing an extender can do.

Extenders are described as in a configuration, but for `urlPrefix`: `(server, behaviour)`, of the servers that
`test_extenders.py` starts. `extender_server.py` has the behaviours: nodes called good pass, bad ones fail, others are
beyond help; a node is scored by the digit its name ends in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.e2e import manifests
from tests.e2e.api import Object
from tests.e2e.manifests import node

NAMESPACE: Final = "extenders"
WANTED: Final = "wanted"
CRITICAL: Final = "system-cluster-critical"
GPU: Final = "example.test/gpu"

FILTER: Final = {"filterVerb": "filter"}
PRIORITIZE: Final = {"prioritizeVerb": "prioritize", "weight": 1}
PREEMPT: Final = {"preemptVerb": "preempt"}
BIND: Final = {"bindVerb": "bind"}
BY_NAME: Final = {"nodeCacheCapable": True}
GPUS: Final = {"managedResources": [{"name": GPU}]}
LEFT_GPUS: Final = {"managedResources": [{"name": GPU, "ignoredByScheduler": True}]}


def plain(behaviour: str, *parts: Mapping[str, Any], **more: Any) -> Object:
    """Describe an extender without TLS."""
    return _extender("plain", behaviour, parts, more)


def down(*parts: Mapping[str, Any], **more: Any) -> Object:
    """Describe an extender that nobody plays."""
    return _extender("down", "", parts, more)


def tls(server: str, *parts: Mapping[str, Any], **config: str | bool) -> Object:
    """Describe an extender with TLS; certificates are named as `test_extenders.py` names their files."""
    return _extender(server, "capital", (FILTER, *parts), {"tlsConfig": config})


def _extender(server: str, behaviour: str, parts: Sequence[Mapping[str, Any]], more: Mapping[str, Any]) -> Object:
    found: Object = {"urlPrefix": (server, behaviour)}
    for part in (*parts, more):
        found |= part
    return found


@dataclass(frozen=True)
class ExtenderScene:
    """Nodes with the pods on them, the extenders, and the pod that is to be placed."""

    name: str
    #: Part of what is said of the pod in an event, so that a scene that does not show what it should is noticed.
    says: str
    extenders: Sequence[Object]
    nodes: Sequence[Object]
    running: Sequence[Object] = ()
    wanted: Object | None = None
    #: Whether somebody has to bind the pod for an extender that says it did.
    is_bound_by_us: bool = False


def pod(name: str, requests: Mapping[str, str] | None = None, **spec: object) -> Object:
    return manifests.pod(NAMESPACE, name, requests, **spec)


def low(name: str, on: str) -> Object:
    """Describe a pod of no importance that has most of a node."""
    return pod(name, {"cpu": "3"}, nodeName=on)


def nodes(*names: str) -> list[Object]:
    return [node(name) for name in names]


IMPORTANT: Final = pod(WANTED, {"cpu": "3"}, priorityClassName=CRITICAL)
ASSIGNED: Final = f"Successfully assigned {NAMESPACE}/{WANTED} to "
DEADLINE: Final = "context deadline exceeded "


def gpu_pod() -> Object:
    wanted = pod(WANTED)
    wanted["spec"]["containers"][0]["resources"] = {"requests": {GPU: "1"}, "limits": {GPU: "1"}}
    return wanted


FILTERING: Final = (
    ExtenderScene(
        "filter keeps all but one node out",
        f"{ASSIGNED}good-2",
        [plain("capital", FILTER)],
        nodes("bad-1", "good-2", "odd-3"),
    ),
    ExtenderScene(
        "filter answers with keys in small letters",
        f"{ASSIGNED}good-2",
        [plain("small", FILTER)],
        nodes("bad-1", "good-2"),
    ),
    ExtenderScene(
        "filter is asked by name of an extender that knows the nodes",
        f"{ASSIGNED}good-2",
        [plain("capital", FILTER, BY_NAME)],
        nodes("bad-1", "good-2", "odd-3"),
    ),
    ExtenderScene(
        "filter keeps all nodes out",
        "0/2 nodes are available: 2 it is bad.",
        [plain("capital", FILTER)],
        nodes("bad-1", "bad-2"),
    ),
    ExtenderScene(
        "filter finds nodes unresolvable, and nobody is evicted there",
        "0/2 nodes are available: 2 it is hopeless.",
        [plain("capital", FILTER)],
        nodes("odd-1", "odd-2"),
        [pod("low-1", {"cpu": "1"}, nodeName="odd-1")],
        IMPORTANT,
    ),
    ExtenderScene(
        "filter and plugins refuse different nodes",
        "0/3 nodes are available: 1 Insufficient cpu, 1 it is bad, 1 it is hopeless.",
        [plain("capital", FILTER)],
        [node("bad-1"), node("odd-2"), node("good-3", {"cpu": "1"})],
        wanted=pod(WANTED, {"cpu": "2"}),
    ),
    ExtenderScene(
        "filter drops nodes without a word",
        "0/2 nodes are available: ",
        [plain("silent", FILTER, BY_NAME)],
        nodes("good-1", "good-2"),
    ),
    ExtenderScene(
        "filter speaks of a node that is not there",
        "0/1 nodes are available: 1 it is bad.",
        [plain("strange", FILTER, BY_NAME)],
        nodes("good-1"),
    ),
    ExtenderScene(
        "filter lets a node through that it was not asked about",
        'claims a filtered node "imagined" which is not found in the input node list',
        [plain("inventing", FILTER, BY_NAME)],
        nodes("good-1"),
    ),
    ExtenderScene("filter replies an error", "the moon is full", [plain("objecting", FILTER)], nodes("good-1")),
    ExtenderScene(
        "two extenders filter one after the other",
        "0/2 nodes are available: 1 it is bad.",
        [plain("capital", FILTER), plain("silent", FILTER, BY_NAME)],
        nodes("bad-1", "good-2"),
    ),
    ExtenderScene(
        "an extender that may fail is asked last",
        "0/2 nodes are available: 2 it is bad.",
        [plain("silent", FILTER, BY_NAME, ignorable=True), plain("capital", FILTER)],
        nodes("bad-1", "bad-2"),
    ),
)

SCORING: Final = (
    ExtenderScene(
        "prioritize decides between nodes",
        f"{ASSIGNED}good-7",
        [plain("capital", PRIORITIZE)],
        nodes("good-1", "good-7", "good-3"),
    ),
    ExtenderScene(
        "prioritize by name of an extender that knows the nodes",
        f"{ASSIGNED}good-7",
        [plain("capital", PRIORITIZE, BY_NAME)],
        nodes("good-1", "good-7"),
    ),
    ExtenderScene(
        "prioritize counts by its weight against what plugins say",
        f"{ASSIGNED}good-2",
        [plain("capital", PRIORITIZE, weight=100)],
        [node("good-1", {"cpu": "64", "memory": "256Gi"}), node("good-2")],
        [low("low-1", "good-2")],
        pod(WANTED, {"cpu": "500m"}),
    ),
    ExtenderScene(
        "prioritize of little weight does not outdo plugins",
        f"{ASSIGNED}good-1",
        [plain("capital", PRIORITIZE)],
        [node("good-1", {"cpu": "64", "memory": "256Gi"}), node("good-2")],
        [low("low-1", "good-2")],
        pod(WANTED, {"cpu": "500m", "memory": "4Gi"}),
    ),
    ExtenderScene(
        "two extenders prioritize, and the one that fails gives nothing",
        f"{ASSIGNED}good-7",
        [plain("capital", PRIORITIZE, weight=2), down(PRIORITIZE, weight=50)],
        nodes("good-1", "good-7"),
    ),
    ExtenderScene(
        "filter that returns whole nodes has them scored as if they were empty",
        f"{ASSIGNED}good-1",
        [plain("capital", FILTER)],
        [node("good-1", {"cpu": "8", "memory": "32Gi"}), node("good-2")],
        [pod("low-1", {"cpu": "7", "memory": "28Gi"}, nodeName="good-1")],
        pod(WANTED, {"cpu": "500m", "memory": "1Gi"}),
    ),
    ExtenderScene(
        "filter that returns names has nodes scored as they are",
        f"{ASSIGNED}good-2",
        [plain("capital", FILTER, BY_NAME)],
        [node("good-1", {"cpu": "8", "memory": "32Gi"}), node("good-2")],
        [pod("low-1", {"cpu": "7", "memory": "28Gi"}, nodeName="good-1")],
        pod(WANTED, {"cpu": "500m", "memory": "1Gi"}),
    ),
)

PREEMPTING: Final = (
    ExtenderScene(
        "preempt agrees to some nodes",
        f"{ASSIGNED}good-1",
        [plain("capital", PREEMPT)],
        nodes("good-1", "bad-2"),
        [low("low-1", "good-1"), low("low-2", "bad-2")],
        IMPORTANT,
    ),
    ExtenderScene(
        "preempt by uid of an extender that knows the nodes",
        f"{ASSIGNED}good-1",
        [plain("capital", PREEMPT, BY_NAME)],
        nodes("good-1", "bad-2"),
        [low("low-1", "good-1"), low("low-2", "bad-2")],
        IMPORTANT,
    ),
    ExtenderScene(
        "preempt agrees to no node",
        "preemption: no candidate node for preemption",
        [plain("silent", PREEMPT)],
        nodes("good-1"),
        [low("low-1", "good-1")],
        IMPORTANT,
    ),
    ExtenderScene(
        "preempt names no victims",
        'preemption: expected at least one victim pod on node "good-1"',
        [plain("no-victims", PREEMPT)],
        nodes("good-1"),
        [low("low-1", "good-1")],
        IMPORTANT,
    ),
    ExtenderScene(
        "preempt names a victim that is not there",
        "claims to preempt pod (UID: &{nobody}) on node: good-1, but the pod is not found on that node",
        [plain("unknown-victims", PREEMPT)],
        nodes("good-1"),
        [low("low-1", "good-1")],
        IMPORTANT,
    ),
    ExtenderScene(
        "preempt names a node that is not there",
        'preemption: nodeinfo not found for node name "imagined"',
        [plain("unknown-nodes", PREEMPT)],
        nodes("good-1"),
        [low("low-1", "good-1")],
        IMPORTANT,
    ),
    ExtenderScene(
        "preempt cannot be reached",
        "preemption: Post ",
        [down(PREEMPT)],
        nodes("good-1"),
        [low("low-1", "good-1")],
        IMPORTANT,
    ),
    ExtenderScene(
        "preempt cannot be reached and may fail",
        f"{ASSIGNED}good-1",
        [down(PREEMPT, ignorable=True)],
        nodes("good-1"),
        [low("low-1", "good-1")],
        IMPORTANT,
    ),
    ExtenderScene(
        "preempt is not asked about a pod that is none of its business",
        f"{ASSIGNED}good-1",
        [down(PREEMPT, GPUS)],
        nodes("good-1"),
        [low("low-1", "good-1")],
        IMPORTANT,
    ),
)

BINDING: Final = (
    ExtenderScene(
        "bind is left to an extender",
        f"{ASSIGNED}good-1",
        [plain("capital", BIND)],
        nodes("good-1"),
        is_bound_by_us=True,
    ),
    ExtenderScene("bind fails", "wanted does not go to bad-1", [plain("capital", BIND)], nodes("bad-1")),
    ExtenderScene(
        "bind fails and may fail", f"{ASSIGNED}bad-1", [plain("capital", BIND, ignorable=True)], nodes("bad-1")
    ),
    ExtenderScene("bind cannot be reached", "connect: connection refused", [down(BIND)], nodes("good-1")),
    ExtenderScene(
        "bind is not asked about a pod that is none of its business",
        f"{ASSIGNED}bad-1",
        [plain("capital", BIND, GPUS)],
        nodes("bad-1"),
    ),
)

MANAGING: Final = (
    ExtenderScene(
        "managedResources: a pod that wants none of them is not asked about",
        f"{ASSIGNED}bad-1",
        [plain("capital", FILTER, GPUS)],
        nodes("bad-1"),
    ),
    ExtenderScene(
        "managedResources: a pod that wants one of them is asked about",
        "0/1 nodes are available: 1 it is bad.",
        [plain("capital", FILTER, GPUS)],
        [node("bad-1", {GPU: "1"})],
        wanted=gpu_pod(),
    ),
    ExtenderScene(
        "managedResources: plugins count them, too",
        f"1 Insufficient {GPU}.",
        [plain("capital", FILTER, GPUS)],
        nodes("good-1"),
        wanted=gpu_pod(),
    ),
    ExtenderScene(
        "managedResources: ignored by the scheduler",
        f"{ASSIGNED}good-1",
        [plain("capital", FILTER, LEFT_GPUS)],
        nodes("good-1"),
        wanted=gpu_pod(),
    ),
)

FAILING: Final = (
    ExtenderScene("not reached", "connect: connection refused", [down(FILTER)], nodes("good-1")),
    ExtenderScene("not reached and ignorable", f"{ASSIGNED}good-1", [down(FILTER, ignorable=True)], nodes("good-1")),
    ExtenderScene("an error code", "/filter, code 500", [plain("failing", FILTER)], nodes("good-1")),
    ExtenderScene(
        "too late",
        f"{DEADLINE}(Client.Timeout exceeded while awaiting headers)",
        [plain("hanging", FILTER, httpTimeout="300ms")],
        nodes("good-1"),
    ),
    ExtenderScene(
        "too late in the middle of a reply",
        f"{DEADLINE}(Client.Timeout or context cancellation while reading body)",
        [plain("stalling", FILTER, httpTimeout="300ms")],
        nodes("good-1"),
    ),
    ExtenderScene(
        "a reply that is there in spite of a connection that is cut off",
        f"{ASSIGNED}good-1",
        [plain("cut-body", FILTER, BY_NAME)],
        nodes("good-1", "good-2"),
    ),
    ExtenderScene("a document that is cut off", "unexpected EOF", [plain("cut-json", FILTER)], nodes("good-1")),
)

TRUSTING: Final = (
    ExtenderScene(
        "tls: an authority that is known",
        f"{ASSIGNED}good-1",
        [tls("secure", caFile="ca.pem") | {"enableHTTPS": True}],
        nodes("good-1"),
    ),
    ExtenderScene(
        "tls: an authority that is not known",
        "tls: failed to verify certificate: x509: certificate signed by unknown authority",
        [tls("secure", caFile="other.pem")],
        nodes("good-1"),
    ),
    ExtenderScene(
        "tls: the certificate is for another name",
        "tls: failed to verify certificate: x509: ",
        [tls("secure", caFile="ca.pem", serverName="extender.test")],
        nodes("good-1"),
    ),
    ExtenderScene(
        "tls: the certificate is for a name, not for the address",
        "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
        [tls("named", caFile="ca.pem")],
        nodes("good-1"),
    ),
    ExtenderScene(
        "tls: the name that is asked for is the certificate's",
        f"{ASSIGNED}good-1",
        [tls("named", caFile="ca.pem", serverName="extender.test")],
        nodes("good-1"),
    ),
    ExtenderScene("tls: insecure", f"{ASSIGNED}good-1", [tls("secure", insecure=True)], nodes("good-1")),
    ExtenderScene(
        "tls: enableHTTPS without an authority believes anybody",
        f"{ASSIGNED}good-1",
        [tls("secure") | {"enableHTTPS": True}],
        nodes("good-1"),
    ),
    ExtenderScene(
        "tls: a client certificate",
        f"{ASSIGNED}good-1",
        [tls("strict", caFile="ca.pem", certFile="cert.pem", keyFile="key.pem")],
        nodes("good-1"),
    ),
    ExtenderScene(
        "tls: no client certificate",
        "remote error: tls: certificate required",
        [tls("strict", caFile="ca.pem")],
        nodes("good-1"),
    ),
    ExtenderScene(
        "tls: the server speaks none",
        "tls: first record does not look like a TLS handshake",
        [tls("unencrypted", insecure=True)],
        nodes("good-1"),
    ),
)

SCENES: Final = (*FILTERING, *SCORING, *PREEMPTING, *BINDING, *MANAGING, *FAILING, *TRUSTING)
