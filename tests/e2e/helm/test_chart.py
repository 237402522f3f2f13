"""The chart of `deploy/`, by the real Helm: the objects of kustomize, refusals in words, from install to uninstall."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.api import ApiError, Object
from tests.e2e.helm.command import WAITING, Helm
from tests.e2e.helm.our_chart import CHART, DEPLOY, render, values_file
from tests.e2e.plane import Plane
from tests.e2e.processes import BINARIES

OVERLAYS = {"second-scheduler": "second-scheduler", "replacement": "replace-default"}
#: What Helm puts on its objects and pods, and kustomize does not; the checksum is in the place of the hash in a name.
OF_HELM = {
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
    "checksum/config",
}
#: Every option of the chart at once; those that exclude each other are in variants below.
EVERYTHING: Object = {
    "fullnameOverride": "everything",
    "replicas": 3,
    "image": {"digest": f"sha256:{'0' * 64}", "pullPolicy": "Always", "pullSecrets": [{"name": "registry"}]},
    "config": {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": True, "resourceNamespace": "default", "resourceName": "mine"},
        "profiles": [{"schedulerName": "stowplan"}],
    },
    "extraPlugins": {"files": {"cool.py": "class Cool: ...\n"}, "image": {"reference": "plugins:1", "path": "/site"}},
    "rbac": {"extraRules": [{"apiGroups": ["example.com"], "resources": ["heats"], "verbs": ["list", "watch"]}]},
    "serviceAccount": {"name": "scheduler", "annotations": {"example.com/a": "b"}},
    "podDisruptionBudget": {"maxUnavailable": "50%"},
    "topologySpreadConstraints": [],
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "topology.kubernetes.io/zone"}}
            ]
        }
    },
    "podAnnotations": {"example.com/c": "d"},
    "podLabels": {"team": "platform"},
    "extraArgs": ["--v=3"],
    "page": {"enabled": True},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}, "manual": "https://manual.example.com/"},
    "dashboard": {"enabled": True, "annotations": {"grafana_folder": "Kubernetes"}},
    "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]},
}
AS_A_VOLUME: Object = {
    "extraPlugins": {"image": {"reference": "plugins:1", "as": "volume"}, "configMap": "there-already"}
}
#: Of the operator's kinds, the fields that the chart has.
MONITOR: Object = {
    "selector": {
        "type": "object",
        "properties": {"matchLabels": {"type": "object", "additionalProperties": {"type": "string"}}},
    },
    "endpoints": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "port": {"type": "string"},
                "scheme": {"type": "string", "enum": ["http", "https"]},
                "interval": {"type": "string", "pattern": "^(0|(([0-9]+)(ms|s|m|h))+)$"},
                "bearerTokenFile": {"type": "string"},
                "tlsConfig": {"type": "object", "properties": {"insecureSkipVerify": {"type": "boolean"}}},
            },
        },
    },
}
_TEXTS: Object = {"type": "object", "additionalProperties": {"type": "string"}}
RULE: Object = {
    "groups": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "rules": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["expr"],
                        "properties": {
                            "alert": {"type": "string"},
                            "expr": {"type": "string"},
                            "for": {"type": "string", "pattern": "^(([0-9]+)(ms|s|m|h))+$"},
                            "labels": _TEXTS,
                            "annotations": _TEXTS,
                        },
                    },
                },
            },
        },
    }
}


def definition(kind: str, plural: str, spec: Object) -> Object:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def by_name(objects: list[Object]) -> dict[tuple[str, str], Object]:
    found = {(item["kind"], item["metadata"]["name"]): item for item in objects}
    assert len(found) == len(objects)
    return found


def without(found: Any) -> Any:
    """Return objects without what is Helm's, and without the hash that kustomize adds to the name of a ConfigMap."""
    if isinstance(found, dict):
        left = {key: without(value) for key, value in found.items() if key not in OF_HELM}
        return {key: value for key, value in left.items() if not (key == "annotations" and value == {})}
    if isinstance(found, list):
        return [without(one) for one in found]
    return re.sub(r"^stowplan-config-[a-z0-9]{10}$", "stowplan-config", found) if isinstance(found, str) else found


@pytest.mark.parametrize("mode", OVERLAYS)
def test_by_default_a_mode_is_exactly_the_overlay_of_kustomize(plane: Plane, mode: str) -> None:
    overlay = DEPLOY / "overlays" / OVERLAYS[mode]
    wanted = list(yaml.safe_load_all(plane.kubectl("kustomize", str(overlay))))
    assert by_name(without(render(plane, f"--set=mode={mode}"))) == by_name(without(wanted))


@pytest.mark.parametrize("values", [{}, EVERYTHING, AS_A_VOLUME], ids=["by default", "with everything", "as a volume"])
def test_lint_has_nothing_to_say(plane: Plane, tmp_path: Path, values: Object) -> None:
    said = Helm(plane, "kube-system")("lint", "--strict", CHART, values_file(tmp_path, values))
    assert "1 chart(s) linted, 0 chart(s) failed" in said


@pytest.mark.parametrize("values", [{}, EVERYTHING, AS_A_VOLUME], ids=["by default", "with everything", "as a volume"])
def test_the_server_takes_every_object(plane: Plane, tmp_path: Path, values: Object) -> None:
    definitions = [
        definition("ServiceMonitor", "servicemonitors", MONITOR),
        definition("PrometheusRule", "prometheusrules", RULE),
    ]
    crds, objects = tmp_path / "crds.json", tmp_path / "objects.json"
    crds.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": definitions}), encoding="utf-8")
    found = render(plane, values_file(tmp_path, values))
    objects.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": found}), encoding="utf-8")
    plane.kubectl("apply", f"--filename={crds}")
    try:
        plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"--filename={crds}")
        strict = ("--server-side", "--validate=strict", "--dry-run=server", "--output=name")
        answer = plane.kubectl("apply", *strict, f"--filename={objects}")
    finally:
        plane.kubectl("delete", f"--filename={crds}")
    assert len(answer.split()) == len(found)


@pytest.mark.parametrize("values", [EVERYTHING, AS_A_VOLUME], ids=["with everything", "as a volume"])
def test_its_pods_keep_to_the_restricted_standard(plane: Plane, namespace: str, tmp_path: Path, values: Object) -> None:
    enforced = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    plane.api.patch(f"/api/v1/namespaces/{namespace}", enforced)
    template = next(one for one in render(plane, values_file(tmp_path, values)) if one["kind"] == "Deployment")["spec"][
        "template"
    ]
    spec = {**template["spec"], "serviceAccountName": "default"}
    path = f"/api/v1/namespaces/{namespace}/pods"

    def create(spec: Object) -> Object:
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stowplan"}, "spec": spec}
        return plane.api.run(plane.api.call("POST", path, body, query={"dryRun": "All"}))

    assert len(create(spec)["spec"]["volumes"]) >= 4
    with pytest.raises(ApiError, match="violates PodSecurity"):
        create({**spec, "securityContext": {}})


def test_the_alerts_are_those_of_the_file_with_the_name_of_the_job(plane: Plane, tmp_path: Path) -> None:
    rule = next(one for one in render(plane, values_file(tmp_path, EVERYTHING)) if one["kind"] == "PrometheusRule")
    text = (DEPLOY / "monitoring" / "alerts.yaml").read_text(encoding="utf-8")
    renamed = text.replace('job="stowplan"', 'job="everything"').replace("stowplan.dev", "manual.example.com")
    assert rule["spec"] == yaml.safe_load(renamed)
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump(rule["spec"]), encoding="utf-8")
    told = subprocess.run([BINARIES / "promtool", "check", "rules", path], capture_output=True, text=True, check=True)
    assert "SUCCESS: 8 rules found" in told.stdout


def test_what_is_asked_for_is_what_the_program_is_told(plane: Plane, tmp_path: Path) -> None:
    rendered = render(plane, values_file(tmp_path, EVERYTHING))
    found = {(item["kind"], item["metadata"]["name"]): item for item in rendered}
    deployment = found["Deployment", "everything"]["spec"]["template"]["spec"]
    (container,), (init,) = deployment["containers"], deployment["initContainers"]
    assert container["args"] == ["run", "--config=/etc/stowplan/config.yaml", "--secure-port=10259", "--page", "--v=3"]
    assert container["env"] == [{"name": "PYTHONPATH", "value": "/opt/stowplan-plugins"}]
    assert init["command"] == ["cp", "-R", "/site/.", "/opt/stowplan-plugins"]
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert mounts["plugin-files"] == "/etc/stowplan/plugins"
    assert found["ConfigMap", "everything-plugins"]["data"] == {"cool.py": "class Cool: ...\n"}
    assert yaml.safe_load(found["ConfigMap", "everything-config"]["data"]["config.yaml"]) == EVERYTHING["config"]
    assert "topologySpreadConstraints" not in deployment


def test_roles_are_where_the_lease_is(plane: Plane, tmp_path: Path) -> None:
    found = [one for one in render(plane, values_file(tmp_path, EVERYTHING)) if one["kind"] == "Role"]
    allowed = {
        role["metadata"]["namespace"]: [(*rule["resources"], *rule.get("resourceNames", ())) for rule in role["rules"]]
        for role in found
    }
    assert allowed == {
        "default": [("leases", "mine"), ("leases",), ("events",)],
        "kube-system": [("configmaps", "extension-apiserver-authentication")],
    }


def test_it_is_installed_switched_rolled_back_and_taken_away(helm: Helm) -> None:
    lease = ("--namespace=kube-system", "-o=jsonpath={.rules[0].resourceNames[0]}")
    selector = ("deployment/stowplan", ".spec.template.spec.nodeSelector")
    own = "--set=nodeSelector.kubernetes\\.io/hostname=a"
    helm.install("stowplan", CHART, *WAITING)
    assert helm.see("deployment/stowplan", ".status.readyReplicas") == "2"
    assert helm.kubectl("get", "role", "stowplan", *lease) == "stowplan"

    helm.upgrade("stowplan", CHART, "--set=mode=replacement", own, *WAITING)
    assert helm.kubectl("get", "role", "stowplan", *lease) == "kube-scheduler"
    assert json.loads(helm.see(*selector)) == {"kubernetes.io/hostname": "a"}

    helm("rollback", "stowplan", *WAITING)
    assert helm.kubectl("get", "role", "stowplan", *lease) == "stowplan"
    assert helm.see(*selector) == ""
    assert [status for status, _ in helm.revisions("stowplan")] == ["superseded", "superseded", "deployed"]

    assert helm.cluster_wide("stowplan") == {
        "clusterrole.rbac.authorization.k8s.io/stowplan",
        "clusterrolebinding.rbac.authorization.k8s.io/stowplan",
    }
    helm("uninstall", "stowplan", "--wait")
    assert helm.cluster_wide("stowplan") == set()
    assert (
        helm.kubectl("get", "role", "--namespace=kube-system", "-o=name")
        .split()
        .count("role.rbac.authorization.k8s.io/stowplan")
        == 0
    )
    assert {one for one in helm.objects() if not one.startswith("pod/")} == set()
