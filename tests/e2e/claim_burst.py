"""A burst of pods with claims that uses up every volume and every device, among pods that no volume or device fits.

It is exact so that nothing can hide: what leaks leaves a pod without a node, what is given twice shows.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any, Final

from tests.e2e.accounting import assert_bound_once, settled
from tests.e2e.api import Api, Object
from tests.e2e.burst import is_bound, refusal_of
from tests.e2e.claiming import device_claims, devices_of, given_twice, users, volumes_of_claims
from tests.e2e.devices import cel, claims_of, device_claim, device_class, devices_on, request
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node, pod
from tests.e2e.plane import Plane
from tests.e2e.stage import Stage
from tests.e2e.storage import claim, storage_class, volume, volumes_of
from tests.limits import LIMIT_SECONDS

NODES: Final = tuple(f"node-{number}" for number in range(8))
EACH: Final = 3
STORING: Final = tuple(f"storing-{number:02}" for number in range(EACH * len(NODES)))
COMPUTING: Final = tuple(f"computing-{number:02}" for number in range(EACH * len(NODES)))
#: What is true of each pod that fits nowhere, whatever else happens.
REASONS: Final[Mapping[str, str]] = {
    "too-large": "0/8 nodes are available: 8 node(s) didn't find available persistent volumes to bind. ",
    "too-special": "0/8 nodes are available: 8 cannot allocate all claims. ",
}
#: Slow enough for a fault to fall into the burst.
CONFIGURATION: Final[Mapping[str, Any]] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "clientConnection": {"qps": 40, "burst": 20},
    "podMaxBackoffSeconds": 1,
}
LOCAL, GPU = "burst-local", "burst-gpu"


class ClaimBurst:
    """The pods of one burst and their claims, in a namespace of their own."""

    def __init__(self, plane: Plane, kubelets: Kubelets, stage: Stage, namespace: str) -> None:
        self._api: Api = plane.api
        self._plane = plane
        self._stage = stage
        self.namespace = namespace
        kubelets.register(node(name) for name in NODES)
        kubelets.start_heartbeats()

    def create(self) -> None:
        """Ask for all pods, those that fit nowhere first."""
        self._stage.put([storage_class(LOCAL), device_class(GPU), *self._claims()])
        self._stage.put(volume(f"{name}-{one}", LOCAL, [name]) for name in NODES for one in range(EACH))
        self._stage.put(devices_on(name, GPU, *(f"d{one}" for one in range(EACH))) for name in NODES)
        pairs = [name for pair in zip(STORING, COMPUTING, strict=True) for name in pair]
        self._api.create_all(self._pod(name) for name in (*REASONS, *pairs))

    def remove(self, names: Collection[str]) -> None:
        """Delete pods, and do not wait for their kubelets."""
        paths = [f"/api/v1/namespaces/{self.namespace}/pods/{name}" for name in names]
        self._api.all(self._api.call("DELETE", path, query={"gracePeriodSeconds": "0"}) for path in paths)

    def bound(self) -> dict[str, str]:
        """Return the nodes of the pods that have one."""
        found = self._api.items(f"/api/v1/namespaces/{self.namespace}/pods")
        return {item["metadata"]["name"]: item["spec"]["nodeName"] for item in found if is_bound(item)}

    def wait_for_bound(self, count: int) -> None:
        """Wait until that many are bound, and make sure that the burst is not over by then."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while len(found := self.bound()) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"after {LIMIT_SECONDS:.0f} s only {len(found)} pods are bound")
            time.sleep(0.05)
        assert len(found) < len(STORING) + len(COMPUTING), "the burst was over before the fault; lower its qps"

    def wait_until_over(self, removed: Collection[str]) -> dict[str, str]:
        """Wait until each pod that fits is bound and each other is told why not; return the nodes of the former."""
        fitting = {*STORING, *COMPUTING} - set(removed)
        self._api.wait_for(f"/api/v1/namespaces/{self.namespace}/pods", lambda pods: _is_over(pods["items"], fitting))
        found = self.bound()
        assert found.keys() == fitting
        return found

    def assert_accounts_balance(self, nodes: Mapping[str, str], removed: Collection[str]) -> None:
        """Every pod has its volume or device on its node, nothing is given twice, and who is gone has nothing."""
        volumes = volumes_of_claims(self._api, self.namespace)
        assert {name: volumes[name].rpartition("-")[0] for name in STORING} == {name: nodes[name] for name in STORING}
        assert given_twice(name for name in volumes.values() if name) == []
        self._wait_until_given_back(removed)
        devices = {item["metadata"]["name"]: devices_of(item) for item in device_claims(self._api, self.namespace)}
        assert given_twice(place for places in devices.values() for place in places) == []
        left = {name: [nodes[name]] for name in COMPUTING if name not in removed}
        gone: dict[str, list[str]] = {name: [] for name in (*removed, "too-special")}
        assert {name: [place.partition("/")[0] for place in places] for name, places in devices.items()} == left | gone
        assert users(self._api, self.namespace) == {name: {name} if name in left else set() for name in devices}

    def assert_bound_once(self, nodes: Collection[str], removed: Collection[str]) -> None:
        assert_bound_once(self._plane, self.namespace, nodes, besides=removed)

    @staticmethod
    def holdings(nodes: Collection[str]) -> dict[str, float]:
        """Return what the scheduler may hold now."""
        return settled(len(NODES), len(nodes), len(REASONS))

    def _wait_until_given_back(self, removed: Collection[str]) -> None:
        def are_free(claims: Object) -> bool:
            return not any(devices_of(one) for one in claims["items"] if one["metadata"]["name"] in removed)

        self._api.wait_for(f"/apis/resource.k8s.io/v1/namespaces/{self.namespace}/resourceclaims", are_free)

    def _claims(self) -> list[Object]:
        special = request(GPU, selectors=[cel("false")])
        return [
            *(claim(self.namespace, name, LOCAL) for name in STORING),
            claim(self.namespace, "too-large", LOCAL, "2Gi"),
            *(device_claim(self.namespace, name, request(GPU)) for name in COMPUTING),
            device_claim(self.namespace, "too-special", special),
        ]

    def _pod(self, name: str) -> Object:
        if name in STORING or name == "too-large":
            return pod(self.namespace, name, volumes=volumes_of(name))
        return pod(self.namespace, name, **claims_of(name))


def _is_over(pods: list[Object], fitting: Collection[str]) -> bool:
    said = {item["metadata"]["name"]: refusal_of(item)[1] for item in pods if not is_bound(item)}
    return not said.keys() & fitting and all(said[name].startswith(reason) for name, reason in REASONS.items())
