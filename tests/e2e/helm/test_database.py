"""A chart with volumes that outlive it, a subchart, a library chart, and templates that look at the cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.access import wait_until
from tests.e2e.helm.command import WAITING, Helm
from tests.e2e.plane import Plane
from tests.e2e.stage import Stage

_PASSWORD = ("secret/db-password", ".data.password")
_KEPT = {
    "persistentvolumeclaim/data-db-0",
    "persistentvolumeclaim/data-db-1",
    "persistentvolumeclaim/db-archive",
}


@pytest.fixture(scope="module")
def database(cluster: Plane) -> Iterator[Helm]:
    """A release; its claims outlive it, and go after the last test."""
    helm = Helm(cluster, "helm-database")
    helm.install("db", "database", *WAITING)
    yield helm
    if helm("list", "--all", "--short"):
        helm("uninstall", "db", *WAITING)
    Stage(cluster.api, helm.namespace).clear()


def test_what_is_installed_is_ready(database: Helm) -> None:
    assert database.see("statefulset/db", ".status.readyReplicas") == "2"
    assert set(database.kubectl("get", "pvc", "-o", "name").split()) == _KEPT
    assert set(database.see("pvc", ".items[*].status.phase").split()) == {"Bound"}
    assert database.see("cronjob/db-backup", ".spec.schedule") == "0 3 * * *"
    assert database.cluster_wide("db") == {
        "certificatesigningrequest.certificates.k8s.io/db",
        "priorityclass.scheduling.k8s.io/db",
        "storageclass.storage.k8s.io/db",
        "validatingadmissionpolicy.admissionregistration.k8s.io/db",
        "validatingadmissionpolicybinding.admissionregistration.k8s.io/db",
    }


def test_what_a_template_drew_is_found_again_by_the_next(database: Helm) -> None:
    before = database.see(*_PASSWORD)
    assert len(before) == 32
    database.upgrade("db", "database", "--set=replicas=2")
    assert database.see(*_PASSWORD) == before


def test_a_subchart_goes_and_comes_back(database: Helm) -> None:
    database.upgrade("db", "database", "--set=nightly.enabled=false")
    assert database.kubectl("get", "cronjobs", "-o", "name") == ""
    database("rollback", "db")
    assert database.kubectl("get", "cronjobs", "-o", "name") == "cronjob.batch/db-backup"


def test_an_upgrade_of_what_cannot_be_changed_is_rolled_back(database: Helm) -> None:
    told = database.fail_to_upgrade("db", "database", "--set=storage=5Gi")
    # In words that are of the release.
    assert 'cannot patch "db" with kind StatefulSet' in told
    assert database.see("statefulset/db", ".spec.volumeClaimTemplates[0].spec.resources.requests.storage") == "1Gi"
    assert [status for status, _ in database.revisions("db")][-2:] == ["failed", "deployed"]


def test_uninstalling_leaves_the_claims_which_the_next_install_finds(database: Helm) -> None:
    volumes = database.see("pvc", ".items[*].spec.volumeName")
    told = database("uninstall", "db", *WAITING)
    assert "[PersistentVolumeClaim] db-archive" in told
    wait_until(lambda: database.objects() == _KEPT, f"only {_KEPT} are left")
    assert database.cluster_wide("db") == set()
    database.install("db", "database", *WAITING)
    assert database.see("pvc", ".items[*].spec.volumeName") == volumes
