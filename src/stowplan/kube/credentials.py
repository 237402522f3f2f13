"""Who we are and where the API server is: from a kubeconfig file, or from what every pod is given.

As upstream: no kubeconfig and no master means in-cluster; a master overrides the address of the file. `kubeconfig.py`
reads the file, `identity.py` holds what may change while we run.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from stowplan.kube.identity import Credentials, CredentialsError, Fixed, TlsFiles, TokenFile, Trust

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
        return found if found.proxy else replace(found, proxy=proxy_from_environment(found.server, environment))
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
        proxy=proxy_from_environment(server, environment),
    )


def _without_credentials(master: str, environment: Mapping[str, str]) -> Credentials:
    server = master.rstrip("/") if "://" in master else f"http://{master.rstrip('/')}"
    trust = Trust(TlsFiles()) if server.startswith("https:") else None
    return Credentials(server, Fixed(""), trust, proxy=proxy_from_environment(server, environment))


def proxy_from_environment(server: str, environment: Mapping[str, str]) -> str:
    """Return the URL of the proxy that the way to a server leads through, "" for none.

    By the rules of Go's `ProxyFromEnvironment`: HTTPS_PROXY or HTTP_PROXY by the scheme of the server, lower case as
    well; NO_PROXY lists names, domains, addresses and address ranges that are reached directly. Loopback always is.
    """
    parts = urlsplit(server)
    name = (parts.hostname or "").rstrip(".")
    if not name or name == "localhost" or _is_loopback(name):
        return ""
    proxy = _variable(environment, f"{parts.scheme}_proxy")
    if not proxy:
        return ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if any(_matches(entry.strip().lower(), name, port) for entry in _variable(environment, "no_proxy").split(",")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name.upper()) or environment.get(name, "")


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _matches(entry: str, name: str, port: int) -> bool:
    if entry in ("", "*"):
        return entry == "*"
    if "/" in entry:
        return _is_within(name, entry)
    bare, has_port, wanted = entry.rpartition(":")
    if has_port and wanted.isdigit() and (":" not in bare or bare.endswith("]")):
        if int(wanted) != port:
            return False
        entry = bare
    entry = entry.strip("[]")
    if entry.startswith("*."):
        entry = entry[1:]
    if entry.startswith("."):
        return name.endswith(entry)
    return name == entry or name.endswith(f".{entry}")


def _is_within(name: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(name) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
