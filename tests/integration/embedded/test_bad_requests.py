"""Whatever is sent, the answer is an answer: never an internal error, never silence."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stowplan.embedded.http.authentication import Authenticator
from stowplan.embedded.http.verbs import Verbs
from stowplan.embedded.identity.service_tokens import Signer
from stowplan.embedded.identity.users import User
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.requests.incoming import Answer, Incoming, Later, refusal
from stowplan.embedded.requests.watching import Watch
from tests.examples import examples
from tests.integration.embedded.running import Cluster, make_api, make_namespace
from tests.integration.embedded.talking import Caller, config_map, pod
from tests.integration.embedded.toys import TOYS

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "annotations": {"a": "b"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]},
    },
}
FULL_POD = pod(
    "p",
    nodeSelector={"zone": "a"},
    tolerations=[{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}],
    affinity={
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]
            }
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}}
            ]
        },
    },
    topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
    volumes=[{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
    containers=[
        {
            "name": "c",
            "image": "i",
            "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}},
            "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}],
            "env": [{"name": "A", "value": "b"}],
        }
    ],
)
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
    "status": {"capacity": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]},
}
BINDING = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
EVICTION = {
    "apiVersion": "policy/v1",
    "kind": "Eviction",
    "metadata": {"name": "p"},
    "deleteOptions": {"gracePeriodSeconds": 0, "preconditions": {"uid": "x"}},
}
QUOTA = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "10", "requests.cpu": "4"}}}
BUDGET = {"metadata": {"name": "b"}, "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "p"}}}}
OPTIONS = {"gracePeriodSeconds": 1, "propagationPolicy": "Foreground", "preconditions": {"uid": "x"}}
LIMITS = {
    "metadata": {"name": "l"},
    "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}]},
}
CLAIM = {
    "metadata": {"name": "v"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
PATCHES: list[Any] = [
    [{"op": "replace", "path": "/spec/replicas", "value": 1}, {"op": "test", "path": "/metadata/name", "value": "d"}],
    {"spec": {"containers": [{"name": "c", "$patch": "delete"}], "$setElementOrder/containers": [{"name": "c"}]}},
]
SEEDS = st.sampled_from([FULL_POD, NODE, DEPLOYMENT, TOYS, *PATCHES])

ODD_TEXTS = st.one_of(
    st.sampled_from(
        ["", "a", "0", "-1", "1e999", "9" * 30, "true", "All", "null", "é", "\x00", "..", "/", "%", "x" * 300]
    ),
    st.text(max_size=12),
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(2**64), 2**64), st.floats(allow_nan=False), ODD_TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXTS, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def spoiled(draw: st.DrawFn, seeds: st.SearchStrategy[Any] = SEEDS) -> Any:
    """A sound object with up to two places replaced by something else."""
    value = json.loads(json.dumps(draw(seeds)))
    for _ in range(draw(st.integers(0, 2))):
        spoil(draw, value)
    return value


def spoil(draw: st.DrawFn, value: Any) -> None:
    """Go down at random, and put something else there."""
    while True:
        if not isinstance(value, dict | list) or not value:
            return
        key = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
        if draw(st.booleans()) or not isinstance(value[key], dict | list):
            value[key] = draw(VALUES)
            return
        value = value[key]


BODIES = st.one_of(
    spoiled().map(lambda value: json.dumps(value).encode()),
    VALUES.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=60),
    st.binary(max_size=60).map(lambda data: b"k8s\x00" + data),
    st.sampled_from([b"", b"[" * 5000, b'{"a":' * 5000, b"a: &a [*a]", b"--- 1\n--- 2\n", b'"\\ud800"']),
)
CONTENT_TYPES = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "",
        "text/plain",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ]
)
PATCH_TYPES = st.sampled_from(
    [f"application/{kind}" for kind in ("json-patch+json", "merge-patch+json", "strategic-merge-patch+json")]
    + ["application/apply-patch+yaml"]
)
ACCEPTS = st.sampled_from(
    [
        "",
        "application/json",
        "*/*",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "text/html",
        ";;,=",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    ]
)
SELECTORS = st.one_of(
    ODD_TEXTS,
    st.sampled_from(
        ["a=b", "a in (b", "!a", "a>1", "spec.nodeName=n", "metadata.name=p", "status.phase!=x", "a\\", "=", ",,"]
    ),
)
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "labelSelector": SELECTORS,
        "fieldSelector": SELECTORS,
        "limit": st.sampled_from(["1", "0", "-1", "x", "9" * 25]),
        "continue": st.sampled_from(["x", "eyJydiI6MSwiYWZ0ZXIiOlsiIiwiIl19", "eyJydiI6LTV9", "===="]),
        "resourceVersion": st.sampled_from(["0", "1", "5", "99999999", "-1", "x", "٣"]),
        "resourceVersionMatch": st.sampled_from(["Exact", "NotOlderThan", "x"]),
        "watch": st.sampled_from(["1", "true", "false", "x"]),
        "sendInitialEvents": st.sampled_from(["true", "false", "x"]),
        "timeoutSeconds": st.sampled_from(["0", "1", "-5", "x"]),
        "dryRun": st.sampled_from(["All", "x", ""]),
        "fieldManager": ODD_TEXTS,
        "fieldValidation": st.sampled_from(["Strict", "Warn", "Ignore", "x"]),
        "force": st.sampled_from(["true", "false", "x"]),
        "gracePeriodSeconds": st.sampled_from(["0", "x", "-9", "9999999999999999"]),
        "propagationPolicy": st.sampled_from(["Orphan", "Foreground", "x"]),
        "includeObject": st.sampled_from(["Object", "None", "x"]),
    },
)
NAMES = st.one_of(st.sampled_from(["p", "n", "d", "c", "default"]), ODD_TEXTS).map(
    lambda name: quote(name, safe="") or "x"
)
PARTS = st.sampled_from(["status", "binding", "eviction", "scale", "finalize", "token", "log", "x", "resize", "exec/y"])
IN_DEFAULT = "/api/v1/namespaces/default"
#: Collections, and what to send there; most have an object or two.
COLLECTIONS: list[tuple[str, str, Any]] = [
    (f"{IN_DEFAULT}/pods", "p", FULL_POD),
    ("/api/v1/pods", "", FULL_POD),
    ("/api/v1/nodes", "n", NODE),
    (f"{IN_DEFAULT}/configmaps", "c", config_map("c")),
    ("/apis/apps/v1/namespaces/default/deployments", "d", DEPLOYMENT),
    ("/apis/apps/v1/namespaces/default/statefulsets", "d", {**DEPLOYMENT, "kind": "StatefulSet"}),
    ("/apis/apps/v1/namespaces/default/daemonsets", "d", {**DEPLOYMENT, "kind": "DaemonSet"}),
    ("/apis/batch/v1/namespaces/default/jobs", "j", {**DEPLOYMENT, "apiVersion": "batch/v1", "kind": "Job"}),
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "toys.example.com", TOYS),
    ("/apis/example.com/v1/namespaces/default/toys", "t", {"metadata": {"name": "t"}, "spec": {"a": 1}}),
    ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", "b", BUDGET),
    (f"{IN_DEFAULT}/resourcequotas", "q", QUOTA),
    (f"{IN_DEFAULT}/limitranges", "l", LIMITS),
    (f"{IN_DEFAULT}/services", "s", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}),
    (f"{IN_DEFAULT}/persistentvolumeclaims", "v", CLAIM),
    (f"{IN_DEFAULT}/events", "e", {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}),
    ("/apis/events.k8s.io/v1/namespaces/default/events", "e", {"metadata": {"name": "e"}, "regarding": {}}),
    (f"{IN_DEFAULT}/serviceaccounts", "default", {"metadata": {"name": "default"}}),
    ("/api/v1/namespaces", "default", {"metadata": {"name": "m"}}),
    (f"{IN_DEFAULT}/bindings", "", BINDING),
    ("/apis/scheduling.k8s.io/v1/priorityclasses", "c", {"metadata": {"name": "c"}, "value": 1}),
    ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "", {"spec": {"resourceAttributes": {"verb": "get"}}}),
    ("/apis/authentication.k8s.io/v1/tokenreviews", "", {"spec": {"token": "t"}}),
    ("/apis/coordination.k8s.io/v1/namespaces/default/leases", "l", {"metadata": {"name": "l"}, "spec": {}}),
]
OF_PARTS = {"binding": BINDING, "eviction": EVICTION, "scale": {"spec": {"replicas": 1}}}
STRAY_PATHS = st.sampled_from(["/", "/apis/x", "/api/v1/things/a", "/openapi/v3/x", "/apis/apps/v1", "/%2e/%zz", ""])


@st.composite
def requests(draw: st.DrawFn) -> Incoming:
    """A request that is nearly right, in any of the ways in which it can be wrong."""
    method = draw(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]))
    path, name, seed = draw(st.sampled_from(COLLECTIONS))
    part = draw(PARTS) if draw(st.integers(0, 3)) == 0 else ""
    if part or method in ("PUT", "PATCH") or (method != "POST" and draw(st.booleans())):
        path += f"/{name if draw(st.integers(0, 4)) else draw(NAMES)}" + (f"/{part}" if part else "")
    is_odd = draw(st.integers(0, 9)) == 0
    return Incoming(
        method,
        draw(STRAY_PATHS) if is_odd else path,
        draw(QUERIES) if draw(st.booleans()) else {},
        draw(ACCEPTS) if is_odd else "",
        draw(CONTENT_TYPES if is_odd else PATCH_TYPES if method == "PATCH" else st.just("application/json")),
        draw(BODIES) if is_odd else json.dumps(draw(spoiled(st.just(OF_PARTS.get(part, seed))))).encode(),
        User("fuzz"),
    )


def world() -> Verbs:
    """A cluster in which there is one of each to break."""
    api = make_api(kept_changes=50)
    make_namespace(api, "default")
    verbs = Verbs(api, Authenticator(api, Signer(b"key")))
    for path, name, obj in COLLECTIONS:
        if name:
            verbs.answer(Incoming("POST", path, content_type="application/json", body=json.dumps(obj).encode()))
    return verbs


async def wait_for(later: Later) -> Answer:
    try:
        return await later.work()
    except StatusError as error:
        return refusal(error)


@settings(max_examples=examples(500), suppress_health_check=list(HealthCheck))
@given(st.lists(requests(), min_size=1, max_size=8))
def test_any_request_has_an_answer(sent: list[Incoming]) -> None:
    verbs = world()
    for request in sent:
        answer = verbs.answer(request)
        if isinstance(answer, Later):
            answer = asyncio.run(wait_for(answer))
        if isinstance(answer, Watch):
            continue
        assert answer.code < 500 or answer.code == 504, (request, answer.body)
        if answer.content_type == "application/json" and answer.code >= 300:
            assert json.loads(answer.body)["kind"] == "Status"


@settings(max_examples=examples(500), suppress_health_check=list(HealthCheck))
@given(spoiled(), PATCH_TYPES, st.sampled_from(["", "/status", "/scale"]))
def test_any_patch_is_taken_or_refused(patch: Any, content_type: str, part: str) -> None:
    path = f"/apis/apps/v1/namespaces/default/deployments/d{part}"
    request = Incoming("PATCH", path, {"fieldManager": "f"}, "", content_type, json.dumps(patch).encode())
    answer = world().answer(request)
    if isinstance(answer, Later):
        answer = asyncio.run(wait_for(answer))
    assert isinstance(answer, Answer)
    assert answer.code < 500, answer.body


def test_bytes_that_are_hardly_http_do_not_end_the_server(cluster: Cluster) -> None:
    caller = Caller(cluster.port)
    for path in ("/api/v1/pods?%zz=%ff&watch", "/%2e%2e/%00", "//api//v1//pods", "/api/v1/pods?" + "a=b&" * 500):
        assert caller.get(path).code < 500
    assert caller.get("/readyz").code == 200
    caller.close()
