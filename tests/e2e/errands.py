"""What makes a scheduler use a permission: each errand brings about one situation and returns when it is over.

The nodes `plain` and `tainted` must be there, and a scheduler for pods that say `schedulerName: stowplan`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.e2e.access import wait_until
from tests.e2e.api import Api, ApiError, Object
from tests.e2e.manifests import pod


def place_a_pod(api: Api, namespace: str) -> None:
    api.create(ours(namespace, "web", {"cpu": "1"}))
    api.wait_for(f"/api/v1/namespaces/{namespace}/pods/web", runs)
    api.delete(f"/api/v1/namespaces/{namespace}/pods/web")


def repeat_a_refusal(api: Api, namespace: str) -> None:
    """Have a pod refused for the same reason until its events become a series."""
    events = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"

    def wait_for_another(known: list[Object]) -> list[Object]:
        return refusals(api.wait_for(events, lambda listing: refusals(listing) != known))

    api.create(ours(namespace, "picky", nodeSelector={"zone": "a"}))
    found = wait_for_another([])
    while not any("series" in event for event in found):
        # A node that seems to suit is a reason to try again; its taint keeps the pod away all the same.
        for zone in ("b", "a"):
            api.patch("/api/v1/nodes/tainted", {"metadata": {"labels": {"zone": zone}}})
        found = wait_for_another(found)
    api.delete(f"/api/v1/namespaces/{namespace}/pods/picky")


def make_room(api: Api, namespace: str) -> None:
    api.create(ours(namespace, "low", {"cpu": "3"}))
    api.wait_for(f"/api/v1/namespaces/{namespace}/pods/low", runs)
    api.create(ours(namespace, "high", {"cpu": "3"}, priorityClassName="system-cluster-critical"))
    api.wait_for(f"/api/v1/namespaces/{namespace}/pods/high", runs)


def lose_an_answer(api: Api, namespace: str) -> None:
    """Let a binding fail in a way that leaves open what became of it."""
    api.create(deaf_webhook(namespace))
    api.create(pod(namespace, "probe", schedulerName="nobody"))
    wait_until(lambda: not binds(api, namespace, "probe"), "bindings fail")
    api.create(ours(namespace, "late"))
    api.wait_for(f"/api/v1/namespaces/{namespace}/events", failed_to_bind)
    api.delete("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/deaf")
    api.wait_for(f"/api/v1/namespaces/{namespace}/pods/late", runs)


def deaf_webhook(namespace: str) -> Object:
    """Describe a webhook for bindings that nobody answers."""
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/binding"]}
    webhook = {
        "name": "deaf.example.test",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    heading = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    return {**heading, "metadata": {"name": "deaf"}, "webhooks": [webhook]}


def binds(api: Api, namespace: str, name: str) -> bool:
    """Tell whether a binding would be taken, without making one."""
    target = {"apiVersion": "v1", "kind": "Node", "name": "plain"}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/binding"
    try:
        api.run(api.call("POST", path, body, query={"dryRun": "All"}))
    except ApiError as error:
        if error.status != 500:
            raise
        return False
    return True


def ours(namespace: str, name: str, requests: Mapping[str, str] | None = None, **spec: Any) -> Object:
    return pod(namespace, name, requests, schedulerName="stowplan", **spec)


def runs(item: Object) -> bool:
    return bool(item["status"]["phase"] == "Running")


def refusals(events: Object) -> list[Object]:
    return [event for event in events["items"] if event["regarding"]["name"] == "picky"]


def failed_to_bind(events: Object) -> bool:
    return any("failed calling webhook" in event["message"] for event in events["items"])
