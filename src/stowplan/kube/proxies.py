"""Which proxy the way to a server leads through, from the environment, by the rules of Go's `ProxyFromEnvironment`.

HTTPS_PROXY or HTTP_PROXY by the scheme of the server, lower case as well; NO_PROXY lists names, domains, addresses and
address ranges that are reached directly. Loopback always is.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit


def from_environment(server: str, environment: Mapping[str, str]) -> str:
    """Return the URL of the proxy for a server, "" for none."""
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
