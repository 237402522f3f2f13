"""Questions to a running scheduler, on a real API server: asking changes nothing, and not everybody may ask.

No other scheduler runs meanwhile: what has been bound the one that is asked has bound itself, so it knows.
"""

from __future__ import annotations

import json

import pytest

from tests.e2e.access import post, token, wait_until_allowed
from tests.e2e.api import Object
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node, pod
from tests.e2e.plane import Plane
from tests.e2e.scheduler_process import stowplan
from tests.e2e.waiting import all_decided

PAGE = "/debug/stowplan/whatif"


@pytest.mark.only_on("real-1.37")
def test_asking_a_live_scheduler_changes_nothing(plane: Plane, kubelets: Kubelets, namespace: str) -> None:
    api = plane.api
    scheduler = stowplan(plane, name="stowplan-whatif")
    kubelets.register(node(name, {"cpu": "2"}) for name in ("a", "b"))
    plane.create_service_account(namespace, "asker")
    allow_asking(plane, namespace, "asker")
    scheduler.start()
    try:
        api.create_all(pod(namespace, f"p{n}", {"cpu": "1"}) for n in range(3))
        api.create(pod(namespace, "waits", {"cpu": "3"}))
        before = api.wait_for(f"/api/v1/namespaces/{namespace}/pods", all_decided)
        bearer = token(plane, namespace, "asker")
        asked = [decode_ready(pod(namespace, f"q{n}", {"cpu": "1"})) for n in range(2)]
        for question, expected in (
            ({"fits": {"pods": asked[:1]}}, ("fits", "placed", 1)),
            ({"fits": {"pods": asked}}, ("fits", "placed", 1)),
            ({"headroom": {"mix": [{"pod": asked[0]}]}}, ("headroom", "rounds", 1)),
            ({"drain": {"names": ["a"]}}, ("drain", "canBeDrained", False)),
        ):
            status, text = post(f"{scheduler.url}{PAGE}", {"question": question}, bearer)
            assert status == 200, text
            kind, field, value = expected
            assert json.loads(text)[kind][field] == value

        after = api.get(f"/api/v1/namespaces/{namespace}/pods")
        assert [one["spec"] for one in after["items"]] == [one["spec"] for one in before["items"]]
        # What is free is still free: one more is bound, and no second.
        api.create_all(pod(namespace, f"last-{n}", {"cpu": "1"}) for n in range(2))
        pods = api.wait_for(f"/api/v1/namespaces/{namespace}/pods", all_decided)["items"]
        last = [one for one in pods if one["metadata"]["name"].startswith("last-") and one["spec"].get("nodeName")]
        assert len(last) == 1
    finally:
        scheduler.stop()


@pytest.mark.only_on("real-1.37")
def test_nobody_asks_who_may_not(plane: Plane, namespace: str) -> None:
    scheduler = stowplan(plane, name="stowplan-whatif-closed")
    plane.create_service_account(namespace, "nobody")
    scheduler.start()
    try:
        question = {"question": {"drain": {"names": ["a"]}}}
        assert post(f"{scheduler.url}{PAGE}", question)[0] in (401, 403)
        assert post(f"{scheduler.url}{PAGE}", question, "no token at all")[0] == 401
        assert post(f"{scheduler.url}{PAGE}", question, token(plane, namespace, "nobody"))[0] == 403
    finally:
        scheduler.stop()


def decode_ready(found: Object) -> Object:
    return {**found, "spec": {"schedulerName": "default-scheduler", **found["spec"]}}


def allow_asking(plane: Plane, namespace: str, account: str) -> None:
    """Let a service account post questions, and wait until that counts."""
    name = f"asks-{namespace}"[:63].rstrip("-")
    rule = {"nonResourceURLs": [PAGE], "verbs": ["post"]}
    group = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    plane.api.create({**group, "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]})
    plane.grant(namespace, account, name)
    wait_until_allowed(plane.api, f"system:serviceaccount:{namespace}:{account}", {"path": PAGE, "verb": "post"})
