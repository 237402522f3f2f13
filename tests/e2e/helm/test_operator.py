"""A chart with kinds of its own and all that stands between a controller and the API server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.access import wait_until
from tests.e2e.helm.command import WAITING, Helm
from tests.e2e.plane import Plane

_DEFINITIONS = ("gadgets.operator.example.test", "servicemonitors.monitoring.example.test")


@pytest.fixture(scope="module")
def operator(cluster: Plane) -> Iterator[Helm]:
    """A release; its kinds stay when it goes, and go after the last test."""
    helm = Helm(cluster, "helm-operator")
    helm.install("op", "operator", *WAITING)
    yield helm
    if helm("list", "--all", "--short"):
        helm("uninstall", "op", *WAITING)
    helm.kubectl("delete", "crd", *_DEFINITIONS, "--timeout=300s")


def test_what_is_installed_is_there(operator: Helm) -> None:
    assert operator.see("deployment/op", ".status.availableReplicas") == "1"
    assert operator.see("gadgets/op", ".spec.size") == "3"
    assert operator.see("servicemonitors/op", ".spec.endpoints[0].interval") == "30s"
    assert operator.cluster_wide("op") == {
        "apiservice.apiregistration.k8s.io/v1alpha1.figures.operator.example.test",
        "clusterrole.rbac.authorization.k8s.io/op-gadgets",
        "clusterrole.rbac.authorization.k8s.io/op-manager",
        "clusterrolebinding.rbac.authorization.k8s.io/op",
        "mutatingwebhookconfiguration.admissionregistration.k8s.io/op",
        "validatingwebhookconfiguration.admissionregistration.k8s.io/op",
    }


def test_a_custom_resource_gets_its_defaults(operator: Helm) -> None:
    assert operator.see("gdg/op", ".spec.mode") == "Careful"
    lines = operator.kubectl("get", "gadgets").splitlines()
    assert lines[0].split() == ["NAME", "SIZE", "HOST"]
    assert lines[1].split() == ["op", "3", "gadget.example.test"]


def test_a_webhook_configuration_gets_its_defaults(operator: Helm) -> None:
    configuration = "validatingwebhookconfiguration/op"
    assert operator.see(configuration, ".webhooks[0].clientConfig.service.port") == "443"
    assert operator.see("mutatingwebhookconfiguration/op", ".webhooks[0].reinvocationPolicy") == "Never"


def test_a_role_that_is_made_of_others_counts(operator: Helm) -> None:
    account = f"system:serviceaccount:{operator.namespace}:op"
    wait_until(
        lambda: operator.kubectl.run("auth", "can-i", "delete", "gadgets", f"--as={account}").stdout == "yes\n",
        f"{account} may delete gadgets",
    )
    assert operator.kubectl.run("auth", "can-i", "delete", "pods", f"--as={account}").stdout == "no\n"


def test_an_upgrade_changes_a_custom_resource(operator: Helm) -> None:
    operator.upgrade("op", "operator", "--set=gadget.size=5")
    assert operator.see("gadgets/op", ".spec.size") == "5"


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        pytest.param("gadget.size=99", "spec.size in body should be less than or equal to 9", id="a-maximum"),
        pytest.param("gadget.host=nowhere", "spec.host in body should match '^([a-z0-9-]+\\.)+test$'", id="a-pattern"),
        pytest.param("gadget.most=2,gadget.size=3", "size must not exceed most", id="a-rule"),
    ],
)
def test_an_upgrade_that_breaks_the_schema_is_rolled_back(operator: Helm, setting: str, complaint: str) -> None:
    before = operator.see("gadgets/op", ".spec")
    assert complaint in operator.fail_to_upgrade("op", "operator", f"--set={setting}")
    assert operator.see("gadgets/op", ".spec") == before
    assert [status for status, _ in operator.revisions("op")][-2:] == ["failed", "deployed"]


def test_uninstalling_leaves_the_definitions_and_nothing_else(operator: Helm) -> None:
    operator("uninstall", "op", *WAITING)
    wait_until(lambda: operator.objects() == set(), "nothing is left in the namespace")
    assert operator.cluster_wide("op") == set()
    assert operator.kubectl("get", "crd", *_DEFINITIONS, "-o", "name").split() == [
        "customresourcedefinition.apiextensions.k8s.io/gadgets.operator.example.test",
        "customresourcedefinition.apiextensions.k8s.io/servicemonitors.monitoring.example.test",
    ]
    # The next install finds them.
    operator.install("op", "operator", *WAITING)
    assert operator.see("gadgets/op", ".spec.size") == "3"
