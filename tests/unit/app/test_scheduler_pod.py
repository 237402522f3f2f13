"""Which pod leads: what leases and pods say of it, and what is told if they say nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from stowplan.app import scheduler_pod
from stowplan.app.scheduler_pod import QueryError, SchedulerPod
from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.connections import ApiAnswer
from stowplan.kube.identity import Credentials, Fixed
from stowplan.kube.transport import ApiRequest, IncomingAnswer

UID = "4e1f-0b0c"
OURS, UPSTREAMS = "kube-system/stowplan", "kube-system/kube-scheduler"
Object = dict[str, Any]


class FakeTransport:
    """An API server of leases and pods, without a wire."""

    def __init__(self, leases: Mapping[str, str], pods: Mapping[str, Object]) -> None:
        self.leases, self.pods = leases, pods
        self.asked: list[str] = []

    async def exchange(self, request: ApiRequest) -> ApiAnswer:
        self.asked.append(request.path)
        words = request.path.strip("/").split("/")
        namespace, kind, name = (*words[words.index("namespaces") + 1 :], "")[:3]
        found: Object | None
        if kind == "leases":
            holder = self.leases.get(f"{namespace}/{name}")
            found = None if holder is None else {"spec": {"holderIdentity": holder}}
        elif name:
            found = self.pods.get(f"{namespace}/{name}")
        else:
            key, _, value = request.params["labelSelector"].partition("=")
            there = [pod for pod in self.pods.values() if pod["metadata"]["namespace"] == namespace]
            found = {"items": [pod for pod in there if pod["metadata"]["labels"].get(key) == value]}
        if found is None:
            return ApiAnswer(404, "Not Found", {}, b'{"kind": "Status", "message": "not found", "code": 404}')
        return ApiAnswer(200, "OK", {}, json.dumps(found).encode())

    async def renew(self, request: ApiRequest) -> None:
        raise NotImplementedError

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[IncomingAnswer]:
        raise NotImplementedError
        yield

    async def close(self) -> None:
        return


def pod(key: str, *, label: str = "stowplan", phase: str = "Running", **spec: Any) -> Object:
    namespace, _, name = key.partition("/")
    labels = {"app.kubernetes.io/name": label} if label else {}
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"containers": [{"name": "c", "image": "example.test/stowplan:0.1.0"}], **spec},
        "status": {"phase": phase},
    }


def by_key(*pods: Object) -> dict[str, Object]:
    return {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": pod for pod in pods}


def client_of(leases: Mapping[str, str], *pods: Object) -> Client:
    transport = FakeTransport(leases, by_key(*pods))
    settings = ClientSettings("test", qps=-1)
    return Client(Credentials("https://test", Fixed("")), settings, transport=transport)


def container(**more: Any) -> Object:
    return {"name": "c", "image": "example.test/stowplan:0.1.0", **more}


LONG = "stowplan-with-a-name-that-is-longer-than-any-host-may-be-6d5f9c7-abcde"


@pytest.mark.parametrize(
    ("leases", "pods", "lease", "expected"),
    [
        pytest.param(
            {OURS: f"stowplan-1_{UID}"},
            [pod("kube-system/stowplan-1"), pod("kube-system/stowplan-2")],
            "",
            SchedulerPod("kube-system", "stowplan-1", 10259, True),
            id="the pod whose name the lease says",
        ),
        pytest.param(
            {UPSTREAMS: f"stowplan-1_{UID}"},
            [pod("kube-system/stowplan-1")],
            "",
            SchedulerPod("kube-system", "stowplan-1", 10259, True),
            id="the lease of kube-scheduler in whose place it is",
        ),
        pytest.param(
            {OURS: f"stowplan-1_{UID}", UPSTREAMS: f"stowplan-2_{UID}"},
            [pod("kube-system/stowplan-1"), pod("kube-system/stowplan-2")],
            "",
            SchedulerPod("kube-system", "stowplan-1", 10259, True),
            id="its own lease before that of kube-scheduler",
        ),
        pytest.param(
            {OURS: "", UPSTREAMS: f"stowplan-2_{UID}"},
            [pod("kube-system/stowplan-2")],
            "",
            SchedulerPod("kube-system", "stowplan-2", 10259, True),
            id="a lease that nobody holds is passed over",
        ),
        pytest.param(
            {OURS: f"gone_{UID}", UPSTREAMS: f"stowplan-2_{UID}"},
            [pod("kube-system/stowplan-2")],
            "",
            SchedulerPod("kube-system", "stowplan-2", 10259, True),
            id="a lease of somebody who is gone is passed over",
        ),
        pytest.param(
            {"batch/pick": f"stowplan-1_{UID}", OURS: f"stowplan-2_{UID}"},
            [pod("batch/stowplan-1"), pod("kube-system/stowplan-2")],
            "batch/pick",
            SchedulerPod("batch", "stowplan-1", 10259, True),
            id="a lease that is named, in its own namespace",
        ),
        pytest.param(
            {UPSTREAMS: f"node-1_{UID}"},
            [pod("kube-system/kube-scheduler-node-1", label="", hostNetwork=True, nodeName="node-1")],
            "",
            SchedulerPod("kube-system", "kube-scheduler-node-1", 10259, False),
            id="the static pod of a node",
        ),
        pytest.param(
            {OURS: f"node-2_{UID}"},
            [
                pod("kube-system/stowplan-1", hostNetwork=True, nodeName="node-1"),
                pod("kube-system/stowplan-2", hostNetwork=True, nodeName="node-2"),
            ],
            "",
            SchedulerPod("kube-system", "stowplan-2", 10259, True),
            id="a pod with the network of its node",
        ),
        pytest.param(
            {OURS: f"{LONG[:63]}_{UID}"},
            [pod(f"kube-system/{LONG}")],
            "",
            SchedulerPod("kube-system", LONG, 10259, True),
            id="a pod whose name is too long for a host",
        ),
        pytest.param(
            {OURS: f"leader_{UID}"},
            [pod("kube-system/stowplan-1", hostname="leader")],
            "",
            SchedulerPod("kube-system", "stowplan-1", 10259, True),
            id="a pod whose host is called otherwise",
        ),
        pytest.param(
            {OURS: f"stowplan-1_{UID}"},
            [pod("kube-system/stowplan-1", containers=[container(args=["run", "--secure-port=12345"])])],
            "",
            SchedulerPod("kube-system", "stowplan-1", 12345, True),
            id="the port that its flags say",
        ),
        pytest.param(
            {OURS: f"stowplan-1_{UID}"},
            [pod("kube-system/stowplan-1", containers=[container(ports=[{"name": "https", "containerPort": 443}])])],
            "",
            SchedulerPod("kube-system", "stowplan-1", 443, True),
            id="the port that is called https",
        ),
    ],
)
def test_the_lease_leads_to_the_pod(
    leases: Mapping[str, str], pods: list[Object], lease: str, expected: SchedulerPod
) -> None:
    assert asyncio.run(scheduler_pod.leading(client_of(leases, *pods), lease)) == expected


REMEDY = (
    "; name another lease with --lease NAMESPACE/NAME, or the pod with --pod NAMESPACE/NAME,"
    " or the address of a scheduler outside of pods with --server"
)


@pytest.mark.parametrize(
    ("leases", "pods", "problem"),
    [
        pytest.param(
            {},
            [],
            f"no scheduler to ask: lease {OURS}: there is none; lease {UPSTREAMS}: there is none",
            id="no lease",
        ),
        pytest.param(
            {OURS: ""},
            [],
            f"no scheduler to ask: lease {OURS}: nobody holds it, so nobody leads at the moment;"
            f" lease {UPSTREAMS}: there is none",
            id="nobody leads",
        ),
        pytest.param(
            {OURS: f"laptop_{UID}"},
            [],
            f"no scheduler to ask: lease {OURS}: laptop_{UID} holds it, but no pod in namespace kube-system is called"
            f" so; lease {UPSTREAMS}: there is none",
            id="a leader outside of pods",
        ),
        pytest.param(
            {OURS: f"stowplan-1_{UID}"},
            [pod("kube-system/stowplan-1", phase="Failed")],
            f"no scheduler to ask: lease {OURS}: pod kube-system/stowplan-1 holds it and is Failed, not Running;"
            f" lease {UPSTREAMS}: there is none",
            id="a leader that has ended",
        ),
        pytest.param(
            {UPSTREAMS: f"node-1_{UID}"},
            [
                pod(
                    "kube-system/kube-scheduler-node-1",
                    label="",
                    hostNetwork=True,
                    containers=[{"name": "kube-scheduler", "image": "registry.k8s.io/kube-scheduler:v1.37.1"}],
                )
            ],
            f"no scheduler to ask: lease {OURS}: there is none; lease {UPSTREAMS}: pod"
            " kube-system/kube-scheduler-node-1 holds it, which runs registry.k8s.io/kube-scheduler:v1.37.1:"
            " kube-scheduler itself, which cannot be asked",
            id="kube-scheduler itself",
        ),
    ],
)
def test_a_lease_that_leads_nowhere_says_why(leases: Mapping[str, str], pods: list[Object], problem: str) -> None:
    with pytest.raises(QueryError) as error:
        asyncio.run(scheduler_pod.leading(client_of(leases, *pods), ""))
    assert str(error.value) == problem + REMEDY


def test_a_pod_of_the_leaders_name_in_another_namespace_is_not_asked() -> None:
    client = client_of({OURS: f"stowplan-1_{UID}"}, pod("default/stowplan-1"))
    with pytest.raises(QueryError, match="no pod in namespace kube-system is called so"):
        asyncio.run(scheduler_pod.leading(client, ""))


def test_a_pod_is_taken_by_name_whoever_leads() -> None:
    client = client_of({}, pod("batch/stowplan-1"))
    assert asyncio.run(scheduler_pod.named(client, "batch/stowplan-1")).name == "stowplan-1"


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("batch/gone", "pod batch/gone: there is none; `kubectl --namespace batch get pods` shows those that are"),
        ("batch/new", "pod batch/new is Pending, not Running; name one that runs"),
        ("batch/old", "pod batch/old is being deleted; name one that runs"),
        ("new", "--pod new: write NAMESPACE/NAME"),
        ("a/b/c", "--pod a/b/c: write NAMESPACE/NAME"),
    ],
)
def test_a_pod_that_cannot_be_asked_is_refused(key: str, problem: str) -> None:
    old = pod("batch/old")
    old["metadata"]["deletionTimestamp"] = "2026-05-04T00:00:00Z"
    client = client_of({}, pod("batch/new", phase="Pending"), old)
    with pytest.raises(QueryError) as error:
        asyncio.run(scheduler_pod.named(client, key))
    assert str(error.value) == problem
