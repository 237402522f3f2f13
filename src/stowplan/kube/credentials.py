"""Who we are and where the API server is: from a kubeconfig file, or from what every pod is given.

As upstream: no kubeconfig and no master means in-cluster; a master overrides the address of the file. `kubeconfig.py`
reads the file, `tls.py` and `tokens.py` hold what may change while we run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from stowplan.kube import proxies
from stowplan.kube.identity import Credentials
from stowplan.kube.tls import CredentialsError, TlsFiles, Trust
from stowplan.kube.tokens import Fixed, TokenFile

__all__ = ["Credentials", "CredentialsError", "in_cluster", "load"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


async def load(
    kubeconfig: str, environment: Mapping[str, str], now: Callable[[], datetime], master: str = "", context: str = ""
) -> Credentials:
    """Find the credentials the way kube-scheduler does; raise CredentialsError if there are none."""
    if kubeconfig:
        # Imported here, as the library behind it takes half a second and 40 MB that a pod in the cluster need not pay.
        from stowplan.kube import kubeconfig as kubeconfig_file

        found = await kubeconfig_file.read(kubeconfig, now, master, context)
        return found if found.proxy else replace(found, proxy=proxies.from_environment(found.server, environment))
    if master:
        return _without_credentials(master, environment)
    return in_cluster(environment)


def in_cluster(environment: Mapping[str, str], directory: Path = SERVICE_ACCOUNT) -> Credentials:
    """Use the service account of the pod we run in."""
    address, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    if not address or not port:
        raise CredentialsError(
            "no kubeconfig is given and KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set;"
            " name a file with --kubeconfig (or clientConnection.kubeconfig), or run in a pod"
        )
    server = f"https://[{address}]:{port}" if ":" in address else f"https://{address}:{port}"
    return Credentials(
        server=server,
        authorization=TokenFile(directory / "token"),
        trust=Trust(TlsFiles(authority=os.fspath(directory / "ca.crt"))),
        proxy=proxies.from_environment(server, environment),
    )


def _without_credentials(master: str, environment: Mapping[str, str]) -> Credentials:
    server = master.rstrip("/") if "://" in master else f"http://{master.rstrip('/')}"
    trust = Trust(TlsFiles()) if server.startswith("https:") else None
    return Credentials(server, Fixed(""), trust, proxy=proxies.from_environment(server, environment))
