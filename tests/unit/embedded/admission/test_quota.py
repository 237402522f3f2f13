"""Resource quotas: what would exceed one is refused, and the books are kept."""

from __future__ import annotations

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api
from tests.unit.embedded.admission.doorstep import asking, change, create, new_api, pod, refusal_of_new
from tests.unit.embedded.given import CONFIG_MAPS, PODS, resource

QUOTAS = resource("resourcequotas")
SERVICES = resource("services")
HALF = {"requests": {"cpu": "1"}, "limits": {"memory": "512Mi"}}


def with_quota(hard: Object, **spec: object) -> Api:
    api = new_api()
    create(api, QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}})
    return api


def used(api: Api) -> Object:
    found: Object = api.get(QUOTAS, "default", "q")["status"]["used"]
    return found


def half(name: str) -> Object:
    return asking(HALF["requests"], HALF["limits"], name)


def test_a_pod_beyond_the_quota_is_refused_with_what_it_wants_and_what_is_left() -> None:
    api = with_quota({"pods": "2", "requests.cpu": "2", "limits.memory": "1Gi"})
    create(api, PODS, half("a"))
    create(api, PODS, half("b"))
    error = refusal_of_new(api, PODS, half("c"))
    assert error.code == 403
    assert error.message == (
        'pods "c" is forbidden: exceeded quota: q, requested: limits.memory=512Mi,pods=1,requests.cpu=1, '
        "used: limits.memory=1Gi,pods=2,requests.cpu=2, limited: limits.memory=1Gi,pods=2,requests.cpu=2"
    )


def test_only_what_is_exceeded_is_named() -> None:
    api = with_quota({"pods": "2", "requests.cpu": "2"})
    create(api, PODS, asking({"cpu": "1"}, name="a"))
    error = refusal_of_new(api, PODS, asking({"cpu": "1500m"}, name="b"))
    assert error.message == (
        'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=1500m, '
        "used: requests.cpu=1, limited: requests.cpu=2"
    )


def test_a_quota_on_amounts_needs_every_container_to_say_its_own() -> None:
    error = refusal_of_new(with_quota({"requests.cpu": "2", "limits.memory": "1Gi"}), PODS, pod())
    assert error.message == (
        'pods "p" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c'
    )


def test_what_is_used_follows_pods_as_they_come_and_end_and_go() -> None:
    api = with_quota({"pods": "5", "requests.cpu": "5"})
    assert used(api) == {"pods": "0", "requests.cpu": "0"}
    for name in ("a", "b"):
        create(api, PODS, asking({"cpu": "500m"}, name=name))
    assert used(api) == {"pods": "2", "requests.cpu": "1"}
    change(api, PODS, "a", {"status": {"phase": "Succeeded"}}, "status")
    assert used(api) == {"pods": "1", "requests.cpu": "500m"}
    api.delete(PODS, "default", "b")
    assert used(api) == {"pods": "0", "requests.cpu": "0"}
    api.delete(PODS, "default", "a")
    assert used(api) == {"pods": "0", "requests.cpu": "0"}


def test_a_new_quota_counts_what_is_there() -> None:
    api = new_api()
    create(api, PODS, asking({"cpu": "500m"}))
    create(api, QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "5", "cpu": "1", "count/pods": "9"}}})
    assert used(api) == {"count/pods": "1", "cpu": "500m", "pods": "1"}


def test_a_dry_run_uses_nothing() -> None:
    api = with_quota({"pods": "1"})
    create(api, PODS, pod(), is_dry_run=True)
    assert used(api) == {"pods": "0"}


def test_objects_of_any_kind_are_counted() -> None:
    api = with_quota({"count/configmaps": "1"})
    create(api, CONFIG_MAPS, {"metadata": {"name": "a"}})
    error = refusal_of_new(api, CONFIG_MAPS, {"metadata": {"name": "b"}})
    assert error.message == (
        'configmaps "b" is forbidden: exceeded quota: q, '
        "requested: count/configmaps=1, used: count/configmaps=1, limited: count/configmaps=1"
    )


def test_node_ports_are_counted() -> None:
    api = with_quota({"services.nodeports": "0"})
    service = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
    with pytest.raises(StatusError, match=r"exceeded quota: q, requested: services\.nodeports=1"):
        create(api, SERVICES, service)


def test_a_quota_with_a_scope_is_about_some_pods_only() -> None:
    api = with_quota({"pods": "0"}, scopes=["BestEffort"])
    create(api, PODS, asking({"cpu": "1"}, name="burstable"))
    with pytest.raises(StatusError, match="exceeded quota"):
        create(api, PODS, pod("best-effort"))
