"""A chart with hooks and all that a namespace has to offer: each turn in the life of a release."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.access import wait_until
from tests.e2e.helm.command import WAITING, WITHOUT_HOOKS, Helm
from tests.e2e.plane import Plane

_DATA = ("configmap/shop-web", ".data")
_REPLICAS = ("deployment/shop-web", ".spec.replicas")


@pytest.fixture(scope="module")
def shop(cluster: Plane) -> Iterator[Helm]:
    """A release for tests that only look at it."""
    helm = Helm(cluster, "helm-shop")
    helm.install("shop", "shop", *WAITING, "--labels=team=sales", "--set=settings.greeting=welcome")
    yield helm
    helm("uninstall", "shop", *WAITING)


def test_what_is_installed_is_ready(shop: Helm) -> None:
    assert shop.see("deployment/shop-web", ".status.availableReplicas") == "2"
    assert {name for name in shop.objects() if name.endswith("/shop-web")} == {
        "configmap/shop-web",
        "deployment.apps/shop-web",
        "horizontalpodautoscaler.autoscaling/shop-web",
        "ingress.networking.k8s.io/shop-web",
        "limitrange/shop-web",
        "networkpolicy.networking.k8s.io/shop-web",
        "poddisruptionbudget.policy/shop-web",
        "resourcequota/shop-web",
        "role.rbac.authorization.k8s.io/shop-web",
        "rolebinding.rbac.authorization.k8s.io/shop-web",
        "secret/shop-web",
        "service/shop-web",
        "serviceaccount/shop-web",
    }


def test_hooks_run_in_the_order_of_their_weights(shop: Helm) -> None:
    hooks = [hook for hook in shop.read("status", "shop")["hooks"] if hook["last_run"]["phase"]]
    hooks.sort(key=lambda hook: hook["last_run"]["started_at"])
    assert [(hook["name"], hook["last_run"]["phase"]) for hook in hooks] == [
        ("shop-steps", "Succeeded"),
        ("shop-migrate", "Succeeded"),
        ("shop-warm", "Succeeded"),
        ("shop-announce", "Succeeded"),
    ]


def test_hooks_go_as_their_policies_say(shop: Helm) -> None:
    assert shop.kubectl("get", "jobs", "-o", "name") == "job.batch/shop-announce"


def test_a_release_is_kept_in_a_secret_that_is_found_by_labels(shop: Helm) -> None:
    secret = json.loads(shop.kubectl("get", "secrets", "-l", "owner=helm,name=shop", "-o", "json"))["items"][0]
    assert secret["metadata"]["name"] == "sh.helm.release.v1.shop.v1"
    assert secret["type"] == "helm.sh/release.v1"
    labels = secret["metadata"]["labels"]
    assert labels.pop("modifiedAt").isdigit()
    assert labels == {"name": "shop", "owner": "helm", "status": "deployed", "team": "sales", "version": "1"}


def test_a_release_is_listed(shop: Helm) -> None:
    (listed,) = shop.read("list", "--selector=team=sales")
    del listed["updated"]
    assert listed == {
        "name": "shop",
        "namespace": "helm-shop",
        "revision": "1",
        "status": "deployed",
        "chart": "shop-1.2.3",
        "app_version": "1",
    }


def test_a_release_is_read_back(shop: Helm) -> None:
    assert shop.read("get", "values", "shop") == {"settings": {"greeting": "welcome"}}
    assert "shop is at revision 1, on http://shop.example.test/" in shop("get", "notes", "shop")
    assert shop("get", "manifest", "shop").count("\nkind: ") == 13
    assert shop("get", "hooks", "shop").count("\nkind: ") == 6
    assert shop.read("get", "metadata", "shop")["appVersion"] == "1"


def test_what_helm_writes_is_its_own(shop: Helm) -> None:
    assert shop.see(_DATA[0], ".metadata.managedFields[*].manager") == "helm"


def test_a_dry_run_on_the_server_leaves_nothing(shop: Helm) -> None:
    before = shop.objects()
    shown = shop("install", "second", "shop", "--dry-run=server")
    assert "name: second-web" in shown
    assert shop.objects() == before


def test_the_tests_of_a_chart_are_run(shop: Helm) -> None:
    assert "Phase:          Succeeded" in shop("test", "shop")
    assert shop.see("pod/shop-ping", ".status.phase") == "Succeeded"


def test_a_test_that_fails_is_told(helm: Helm) -> None:
    helm.install("shop", "shop", WITHOUT_HOOKS, "--set=migration.exitCode=3")
    result = helm.run("test", "shop")
    assert result.returncode == 1
    assert "pod shop-ping failed" in result.stderr


def test_an_upgrade_merges_what_others_changed(helm: Helm) -> None:
    helm.install("shop", "shop", WITHOUT_HOOKS)
    helm.kubectl("scale", "deployment/shop-web", "--replicas=4")
    helm.kubectl("annotate", "deployment/shop-web", "note=mine")
    helm.kubectl("patch", "configmap/shop-web", "--type=merge", "-p", '{"data":{"added":"by hand"}}')
    helm.upgrade("shop", "shop", WITHOUT_HOOKS, "--set=settings.theme=null,settings.greeting=bye")
    assert helm.see(*_REPLICAS) == "2"
    assert helm.see("deployment/shop-web", ".metadata.annotations.note") == "mine"
    assert json.loads(helm.see(*_DATA)) == {"added": "by hand", "greeting": "bye"}


def test_an_upgrade_rolls_pods_and_takes_away_what_is_no_longer_there(helm: Helm) -> None:
    helm.install("shop", "shop", WITHOUT_HOOKS)
    helm.upgrade("shop", "shop", WITHOUT_HOOKS, *WAITING, "--set=ingress.enabled=false,image=example.test/mall")
    assert helm.kubectl("get", "ingresses", "-o", "name") == ""
    assert set(helm.see("replicasets", ".items[*].spec.template.spec.containers[0].image").split()) == {
        "example.test/mall:1",
        "example.test/shop:1",
    }
    helm.kubectl("rollout", "status", "deployment/shop-web", "--timeout=300s")


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        pytest.param("migration.exitCode=1", "job shop-migrate failed: BackoffLimitExceeded", id="a-hook"),
        pytest.param("labels.tier=in between", 'metadata.labels: Invalid value: "in between"', id="the-server"),
    ],
)
def test_an_upgrade_that_fails_is_rolled_back(helm: Helm, setting: str, complaint: str) -> None:
    helm.install("shop", "shop", WITHOUT_HOOKS)
    told = helm.fail_to_upgrade("shop", "shop", f"--set={setting}", "--set=settings.greeting=bye")
    assert "release shop failed, and has been rolled back due to atomic being set" in told
    assert complaint in told
    assert [status for status, _ in helm.revisions("shop")] == ["superseded", "failed", "deployed"]
    assert json.loads(helm.see(*_DATA)) == {"greeting": "hello", "theme": "light"}


def test_a_rollback_brings_a_revision_back(helm: Helm) -> None:
    helm.install("shop", "shop", WITHOUT_HOOKS)
    helm.upgrade("shop", "shop", WITHOUT_HOOKS, "--set=settings.greeting=bye,ingress.enabled=false,replicas=3")
    helm("rollback", "shop", "1")
    assert helm.revisions("shop") == [
        ("superseded", "Install complete"),
        ("superseded", "Upgrade complete"),
        ("deployed", "Rollback to 1"),
    ]
    assert json.loads(helm.see(*_DATA)) == {"greeting": "hello", "theme": "light"}
    assert helm.see(*_REPLICAS) == "2"
    assert helm.kubectl("get", "ingresses", "-o", "name") == "ingress.networking.k8s.io/shop-web"
    # Its own hook ran, those of installs and upgrades did not.
    assert helm.see("jobs", ".items[*].metadata.name") == "shop-announce"


def test_uninstalling_leaves_what_hooks_left_and_nothing_else(helm: Helm) -> None:
    helm.install("shop", "shop")
    helm("uninstall", "shop", *WAITING)
    left = {"configmap/shop-steps", "job.batch/shop-announce"}
    wait_until(lambda: {name for name in helm.objects() if "shop-announce-" not in name} == left, f"only {left} left")
    assert "release: not found" in helm.run("status", "shop").stderr


def test_an_uninstalled_release_whose_history_was_kept_comes_back(helm: Helm) -> None:
    helm.install("shop", "shop", WITHOUT_HOOKS)
    helm("uninstall", "shop", "--keep-history", WITHOUT_HOOKS)
    assert helm.revisions("shop") == [("uninstalled", "Uninstallation complete")]
    helm("rollback", "shop", "1", *WAITING)
    assert helm.see("deployment/shop-web", ".status.availableReplicas") == "2"


def test_what_is_rendered_is_applied_by_kubectl_and_taken_over_by_helm(helm: Helm) -> None:
    rendered = helm("template", "shop", "shop", WITHOUT_HOOKS)
    helm.kubectl("create", "namespace", helm.namespace)
    assert helm.kubectl("apply", "-f", "-", stdin=rendered).count(" created") == 13
    # Defaults within lists, and what is not stored as it was given, look like changes to kubectl.
    again = helm.kubectl("apply", "-f", "-", stdin=rendered).splitlines()
    assert {line.partition(" ")[0] for line in again if not line.endswith(" unchanged")} == {
        "networkpolicy.networking.k8s.io/shop-web",
        "poddisruptionbudget.policy/shop-web",
        "secret/shop-web",
    }
    refused = helm.run("install", "shop", "shop", WITHOUT_HOOKS).stderr
    assert "exists and cannot be imported into the current release: invalid ownership metadata" in refused
    helm.install("shop", "shop", WITHOUT_HOOKS, "--take-ownership")
    assert helm.see(_DATA[0], ".metadata.annotations.meta\\.helm\\.sh/release-name") == "shop"
