"""The chart of `deploy/`, and what tests give it: values in a file, a configuration of so many profiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import yaml

from tests.e2e.api import Object
from tests.e2e.helm.command import Helm
from tests.e2e.plane import Plane

DEPLOY: Final = Path(__file__).resolve().parents[3] / "deploy"
CHART: Final = str(DEPLOY / "chart" / "stowplan")


def configuration(*profiles: str, **election: object) -> Object:
    """Return a configuration with these profiles, and what is said of leader election."""
    found: Object = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    if profiles:
        found["profiles"] = [{"schedulerName": name} for name in profiles]
    return found | {"leaderElection": election}


def values_file(folder: Path, values: Object) -> str:
    """Write values to a file, and return the option that has Helm read it."""
    path = folder / "values.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    return f"--values={path}"


def render(plane: Plane, *options: str) -> list[Object]:
    """Return what `helm template` says, in kube-system."""
    helm = Helm(plane, "kube-system")
    text = helm("template", "stowplan", CHART, "--api-versions=monitoring.coreos.com/v1", *options)
    return [item for item in yaml.safe_load_all(text) if item]
