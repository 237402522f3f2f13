"""The manifests agree with each other and with the program; the end-to-end tests show them to a real API server."""

from pathlib import Path
from typing import Any

import pytest

from stowplan import __version__
from stowplan.app.cluster import Cluster
from stowplan.app.configuration import read_configuration
from stowplan.app.watching import watched
from stowplan.cli.flag_parser import parse
from stowplan.cli.run import flag_warnings
from tests.unit.deploy.manifests import BASE, OVERLAYS, container, kustomizations, objects, parts, read, the

SECOND, REPLACEMENT = OVERLAYS / "second-scheduler", OVERLAYS / "replace-default"
LABELS = {"app.kubernetes.io/name": "stowplan"}


@pytest.mark.parametrize("kustomization", kustomizations(), ids=lambda path: path.parent.name)
def test_every_part_of_a_kustomization_exists(kustomization: Path) -> None:
    assert [part.name for part in parts(kustomization) if not part.exists()] == []


def test_every_manifest_is_part_of_a_kustomization() -> None:
    named = {part for kustomization in kustomizations() for part in parts(kustomization)}
    assert {path.name for folder in (BASE, OVERLAYS) for path in folder.rglob("*.yaml") if path not in named} == {
        "kustomization.yaml"
    }


def test_everything_has_one_name_and_one_namespace() -> None:
    assert [(item["kind"], item["metadata"]["name"], item["metadata"].get("namespace")) for item in objects()] == [
        ("ServiceAccount", "stowplan", "kube-system"),
        ("ClusterRole", "stowplan", None),
        ("ClusterRoleBinding", "stowplan", None),
        ("Role", "stowplan", "kube-system"),
        ("RoleBinding", "stowplan", "kube-system"),
        ("Deployment", "stowplan", "kube-system"),
        ("PodDisruptionBudget", "stowplan", "kube-system"),
        ("Service", "stowplan", "kube-system"),
    ]
    assert [read(path)[0]["namespace"] for path in kustomizations()] == ["kube-system"] * 3


@pytest.mark.parametrize("kind", ["ClusterRole", "Role"])
def test_a_role_is_bound_to_the_service_account(kind: str) -> None:
    binding = the(f"{kind}Binding")
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "stowplan"}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "stowplan", "namespace": "kube-system"}]
    assert the("Deployment")["spec"]["template"]["spec"]["serviceAccountName"] == "stowplan"


def test_whoever_selects_pods_selects_these() -> None:
    spec = the("Deployment")["spec"]
    assert spec["template"]["metadata"]["labels"] == LABELS
    assert spec["selector"]["matchLabels"] == LABELS
    assert spec["template"]["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"] == LABELS
    assert the("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == LABELS
    assert the("Service")["spec"]["selector"] == LABELS


def test_one_replica_may_go_and_one_stays() -> None:
    assert the("Deployment")["spec"]["replicas"] == 2
    assert the("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1


def test_the_command_line_is_one_that_the_program_takes() -> None:
    command, *flags = container()["args"]
    options = parse(flags)
    assert command == "run"
    assert flag_warnings(options) == []
    assert options.secure_port == container()["ports"][0]["containerPort"] == the("Service")["spec"]["ports"][0]["port"]


def test_the_configuration_is_mounted_where_the_command_line_looks_for_it() -> None:
    (generator,) = read(BASE / "kustomization.yaml")[0]["configMapGenerator"]
    mount = next(one for one in container()["volumeMounts"] if one["name"] == "config")
    volumes = {one["name"]: one for one in the("Deployment")["spec"]["template"]["spec"]["volumes"]}
    assert volumes["config"]["configMap"]["name"] == generator["name"]
    assert parse(container()["args"][1:]).config == f"{mount['mountPath']}/{generator['files'][0]}"
    assert {one["name"] for one in container()["volumeMounts"]} == set(volumes)
    (replaced,) = read(SECOND / "kustomization.yaml")[0]["configMapGenerator"]
    assert replaced == {**generator, "behavior": "replace"}


@pytest.mark.parametrize(
    ("folder", "scheduler", "lease"),
    [
        pytest.param(BASE, "default-scheduler", "kube-scheduler", id="in the place of kube-scheduler"),
        pytest.param(SECOND, "stowplan", "stowplan", id="beside it"),
    ],
)
def test_a_configuration_can_be_used_and_its_lease_is_allowed(folder: Path, scheduler: str, lease: str) -> None:
    configuration = read_configuration((folder / "config.yaml").read_text(encoding="utf-8"))
    assert [profile.scheduler_name for profile in configuration.profiles] == [scheduler]
    election = configuration.leader_election
    assert (election.leader_elect, election.resource_namespace, election.resource_name) == (True, "kube-system", lease)
    assert allowed_leases(folder) == [lease]


def allowed_leases(folder: Path) -> list[str]:
    rule = the("Role")["rules"][0]
    assert (rule["resources"], rule["verbs"]) == (["leases"], ["get", "update"])
    if folder == BASE:
        names: list[str] = rule["resourceNames"]
        return names
    before, after = read(folder / "lease-name.yaml")[0]
    assert before == {"op": "test", "path": "/rules/0/resourceNames/0", "value": rule["resourceNames"][0]}
    assert (after["op"], after["path"]) == ("replace", before["path"])
    return [after["value"]]


def test_the_configuration_does_not_share_a_name_with_a_lease() -> None:
    # kustomize would add its hash to the lease in the Role.
    (generator,) = read(BASE / "kustomization.yaml")[0]["configMapGenerator"]
    assert generator["name"] not in ("stowplan", "kube-scheduler")


def test_what_is_watched_may_be_watched_and_nothing_else() -> None:
    configuration = read_configuration((BASE / "config.yaml").read_text(encoding="utf-8"))
    needed = {one.name for one in watched(Cluster(configuration).profiles.values())}
    assert {name: verbs for name, verbs in cluster_permissions().items() if "watch" in verbs} == {
        **{name: {"list", "watch"} for name in needed},
        "pods": {"delete", "get", "list", "watch"},
        "persistentvolumes": {"list", "patch", "watch"},
        "persistentvolumeclaims": {"list", "patch", "watch"},
        "resourceclaims.resource.k8s.io": {"create", "delete", "list", "patch", "watch"},
    }


def test_what_is_written_is_little() -> None:
    assert {name: verbs for name, verbs in cluster_permissions().items() if "watch" not in verbs} == {
        "pods/binding": {"create"},
        "pods/status": {"patch"},
        "resourceclaims/status.resource.k8s.io": {"patch"},
        "resourceclaims/binding.resource.k8s.io": {"patch"},
        "events.events.k8s.io": {"create", "patch"},
        "tokenreviews.authentication.k8s.io": {"create"},
        "subjectaccessreviews.authorization.k8s.io": {"create"},
    }


def cluster_permissions() -> dict[str, set[str]]:
    """Return verbs by resource, named as kubectl names it."""
    return {
        f"{resource}.{group}" if group else resource: set(rule["verbs"])
        for rule in the("ClusterRole")["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


@pytest.mark.parametrize(
    ("probe", "path"), [("startupProbe", "/healthz"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")]
)
def test_probes_ask_the_https_port(probe: str, path: str) -> None:
    assert container()[probe]["httpGet"] == {"path": path, "port": "https", "scheme": "HTTPS"}
    assert container()["ports"] == [{"name": "https", "containerPort": 10259}]


def test_it_runs_with_as_little_as_possible() -> None:
    pod: dict[str, Any] = the("Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert (container()["image"], pod["priorityClassName"]) == (f"stowplan:{__version__}", "system-cluster-critical")


def test_a_replacement_runs_on_the_control_plane() -> None:
    (patch,) = read(REPLACEMENT / "control-plane.yaml")
    key = "node-role.kubernetes.io/control-plane"
    assert patch["spec"]["template"]["spec"] == {
        "nodeSelector": {key: ""},
        "tolerations": [{"key": key, "operator": "Exists", "effect": "NoSchedule"}],
    }
