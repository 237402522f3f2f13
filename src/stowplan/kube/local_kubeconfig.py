"""The kubeconfig of a cluster in one process, as its readers see it: where it is, and where its scheduler answers.

`local/api_endpoint.py` writes it.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

#: Where it is unless something else is asked for: found again by whoever works in the same folder.
DEFAULT_PATH: Final = Path(".stowplan") / "kubeconfig"
NAME: Final = "stowplan"


@dataclass(frozen=True, slots=True)
class Access:
    """Where a cluster is and how it is entered."""

    server: str
    token: str = field(default="", repr=False)
    #: What the server's certificate is checked against, in PEM.
    authority: str = ""
    #: The name that the certificate is for, where that is not the one in the address.
    server_name: str = ""
    #: Where the pages of the scheduler are.
    scheduler: str = ""


def read(path: Path) -> Access | None:
    """Read a file that `write` has written; None if it is not there or another program wrote it."""
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        cluster, user = content["clusters"][0], content["users"][0]
        if (content["current-context"], cluster["name"], user["name"]) != (NAME, NAME, NAME):
            return None
        return _access(cluster["cluster"], user.get("user") or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError, LookupError, TypeError, ValueError):
        return None


def _access(cluster: dict[str, Any], user: dict[str, Any]) -> Access:
    authority = base64.b64decode(cluster.get("certificate-authority-data", "")).decode()
    extensions = {one["name"]: one["extension"] for one in cluster.get("extensions", ())}
    return Access(
        cluster["server"],
        user.get("token", ""),
        authority,
        cluster.get("tls-server-name", ""),
        extensions.get(NAME, {}).get("scheduler", ""),
    )
