"""Which kubeconfig is meant if none is named, and which namespace if none is.

`credentials.py` reads from it where the server is, and who asks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stowplan.kube.local_kubeconfig import DEFAULT_PATH


def usual(environment: Mapping[str, str]) -> str:
    """Return the kubeconfig of the cluster that runs in this folder, or kubectl's; "" if there is none."""
    return os.fspath(DEFAULT_PATH) if DEFAULT_PATH.exists() else of_kubectl(environment)


def of_kubectl(environment: Mapping[str, str]) -> str:
    """Return the kubeconfig that kubectl would take, which may be several files; "" if there is none."""
    home = Path.home() / ".kube" / "config"
    return environment.get("KUBECONFIG", "") or (os.fspath(home) if home.exists() else "")


def is_there(kubeconfig: str) -> bool:
    """Say whether one of the files that a kubeconfig may consist of is there."""
    return any(path.is_file() for path in _paths(kubeconfig))


def namespace_of(kubeconfig: str, context: str = "") -> str:
    """Return the namespace of a context, by default of the current one; "" if it has none, or cannot be read."""
    contents = [content for path in _paths(kubeconfig) if (content := _content(path))]
    # As kubectl merges them: what comes first counts.
    wanted = context or next(filter(None, (content.get("current-context") for content in contents)), "")
    for content in contents:
        for one in content.get("contexts") or ():
            if one.get("name") == wanted:
                return str((one.get("context") or {}).get("namespace") or "")
    return ""


def _paths(kubeconfig: str) -> Iterator[Path]:
    return (Path(part).expanduser() for part in kubeconfig.split(os.pathsep) if part)


def _content(path: Path) -> dict[str, Any]:
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        # Who asks with it is told.
        return {}
    return content if isinstance(content, dict) else {}
