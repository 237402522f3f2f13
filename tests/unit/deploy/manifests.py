"""Reads `deploy/` for the tests beside it: objects by kind, and what each kustomization is made from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
BASE, OVERLAYS = DEPLOY / "base", DEPLOY / "overlays"

Object = dict[str, Any]


def read(path: Path) -> list[Any]:
    """Read the documents of a YAML file."""
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def objects() -> list[Object]:
    """Return the objects of the base, as they are written."""
    (kustomization,) = read(BASE / "kustomization.yaml")
    return [found for name in kustomization["resources"] for found in read(BASE / name)]


def the(kind: str) -> Object:
    """Return the one object of a kind."""
    (found,) = (item for item in objects() if item["kind"] == kind)
    return found


def container() -> Object:
    (found,) = the("Deployment")["spec"]["template"]["spec"]["containers"]
    result: Object = found
    return result


def kustomizations() -> list[Path]:
    return sorted(DEPLOY.rglob("kustomization.yaml"))


def parts(kustomization: Path) -> Iterator[Path]:
    """Yield every file or folder that a kustomization names."""
    (found,) = read(kustomization)
    names = [*found.get("resources", ()), *(patch["path"] for patch in found.get("patches", ()))]
    names += [name for generator in found.get("configMapGenerator", ()) for name in generator["files"]]
    return ((kustomization.parent / name).resolve() for name in names)
