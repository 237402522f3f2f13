"""Who we are and where the API server is: from a kubeconfig file, or from what every pod is given.

As upstream: no kubeconfig and no master means in-cluster; a master overrides the address of the file.
kubernetes_asyncio merges the files, follows the context, unpacks inline certificates and runs the plugins. What it does
not do is here: users of no kind, rotated token files, impersonation, and running a plugin again when its answer ends.
`identity.py` holds what may change while we run.
"""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from stowplan.kube.identity import Authorization, Credentials, CredentialsError, Fixed, TlsFiles, TokenFile, Trust

__all__ = ["Credentials", "CredentialsError", "in_cluster", "load"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PLUGIN_SECONDS = 60.0
_NOBODY = "(no user)"
_LOOPBACK = ("127.0.0.0/8", "::1/128")


async def load(
    kubeconfig: str, environment: Mapping[str, str], now: Callable[[], datetime], master: str = "", context: str = ""
) -> Credentials:
    """Find the credentials the way kube-scheduler does; raise CredentialsError if there are none."""
    if kubeconfig:
        found = await read_kubeconfig(kubeconfig, now, master, context)
        return found if found.proxy else replace(found, proxy=proxy_from_environment(found.server, environment))
    if master:
        server = master.rstrip("/") if "://" in master else f"http://{master.rstrip('/')}"
        trust = Trust(TlsFiles()) if server.startswith("https:") else None
        return Credentials(server, Fixed(""), trust, proxy=proxy_from_environment(server, environment))
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


def proxy_from_environment(server: str, environment: Mapping[str, str]) -> str:
    """Return the URL of the proxy that the way to a server leads through, "" for none.

    By the rules of Go's `ProxyFromEnvironment`: HTTPS_PROXY or HTTP_PROXY by the scheme of the server, lower case as
    well; NO_PROXY lists names, domains, addresses and address ranges that are reached directly. Loopback always is.
    """
    parts = urlsplit(server)
    name = (parts.hostname or "").rstrip(".")
    if not name or name == "localhost" or any(_is_within(name, each) for each in _LOOPBACK):
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


async def read_kubeconfig(name: str, now: Callable[[], datetime], master: str = "", context: str = "") -> Credentials:
    """Read a kubeconfig file; `context` and `master` override its current context and its server."""
    if not _is_there(name):
        raise CredentialsError(f'kubeconfig "{name}": no such file; check --kubeconfig or clientConnection.kubeconfig')
    try:
        return await _read(name, now, master, context)
    except CredentialsError:
        raise
    except TimeoutError:
        raise CredentialsError(f'kubeconfig "{name}": its exec plugin did not end in {_PLUGIN_SECONDS:g} s') from None
    except Exception as fault:
        # The library lets whatever a malformed file leads to through.
        problem = str(fault) or type(fault).__name__
        raise CredentialsError(f'kubeconfig "{name}": {problem}; correct the file or choose another context') from fault


def _is_there(name: str) -> bool:
    return any(Path(part).expanduser().is_file() for part in name.split(":") if part)


async def _read(name: str, now: Callable[[], datetime], master: str, context: str) -> Credentials:
    # Imported here, as it takes half a second and 40 MB that a pod in the cluster need not pay.
    library: Any = importlib.import_module("kubernetes_asyncio.config.kube_config")
    config = library.KubeConfigMerger(name).config
    user, folder = _user_of(config, context)
    loader = library.KubeConfigLoader(config_dict=config, config_base_path=None, active_context=context or None)
    said = SimpleNamespace(api_key={})
    async with asyncio.timeout(_PLUGIN_SECONDS):
        await loader.load_and_set(said)
    server = (master or getattr(said, "host", "")).rstrip("/")
    if "://" not in server:
        raise CredentialsError(
            f'kubeconfig "{name}": server: "{server}" is no URL; give one such as https://10.0.0.1:6443'
        )
    proxy = getattr(said, "proxy", "") or ""
    if proxy and not proxy.startswith(("http://", "https://")):
        raise CredentialsError(
            f'kubeconfig "{name}": proxy-url "{proxy}" is not supported; give an http or https proxy'
        )
    trust = Trust(_files_of(said)) if server.startswith("https:") else None
    authorization: Authorization = Fixed(said.api_key.get("BearerToken", ""))
    if user.get("exec"):
        authorization = _Plugin(loader, said, trust, now)
    elif user.get("tokenFile"):
        authorization = TokenFile(folder / user["tokenFile"])
    return Credentials(
        server=server,
        authorization=authorization,
        trust=trust,
        server_name=getattr(said, "tls_server_name", "") or "",
        proxy=proxy,
        impersonation=tuple(_impersonation(user)),
    )


def _user_of(config: Any, context: str) -> tuple[dict[str, Any], Path]:
    """Return the user section of the context and the folder its paths start from; a context may do without one."""
    chosen = config["contexts"].get_with_name(context or config["current-context"])["context"]
    if not chosen.safe_get("user"):
        chosen.value["user"] = _NOBODY
        config.value["users"].append({"name": _NOBODY, "user": {}})
    entry = config["users"].get_with_name(chosen["user"])
    if not entry.value.get("user"):
        entry.value["user"] = {}
    return entry.value["user"], Path(entry.path or ".").absolute().parent


def _files_of(said: Any) -> TlsFiles:
    return TlsFiles(
        authority=getattr(said, "ssl_ca_cert", None) or "",
        certificate=getattr(said, "cert_file", None) or "",
        key=getattr(said, "key_file", None) or "",
        is_insecure=not getattr(said, "verify_ssl", True),
    )


class _Plugin:
    """Credentials from a program: run again when they end, or when the server does not accept them."""

    def __init__(self, loader: Any, said: Any, trust: Trust | None, now: Callable[[], datetime]) -> None:
        self._loader, self._said, self._trust, self._now = loader, said, trust, now
        self._lock = asyncio.Lock()
        self._expires_at: datetime | None = getattr(loader, "exec_plugin_expiry", None)

    async def header(self) -> str:
        if self._is_over():
            async with self._lock:
                if self._is_over():
                    await self._run()
        return getattr(self._loader, "token", "")

    async def renew(self) -> None:
        async with self._lock:
            await self._run()

    def _is_over(self) -> bool:
        return self._expires_at is not None and self._expires_at <= self._now()

    async def _run(self) -> None:
        # With an expiry in place the library would judge by itself, by its own clock.
        if hasattr(self._loader, "exec_plugin_expiry"):
            del self._loader.exec_plugin_expiry
        try:
            async with asyncio.timeout(_PLUGIN_SECONDS):
                await self._loader.load_from_exec_plugin()
        except Exception as fault:
            raise CredentialsError(
                f"the exec plugin of the kubeconfig failed: {fault or type(fault).__name__}"
            ) from fault
        self._expires_at = getattr(self._loader, "exec_plugin_expiry", None)
        if self._trust is not None and getattr(self._loader, "cert_file", None):
            self._said.cert_file, self._said.key_file = self._loader.cert_file, self._loader.key_file
            self._trust.use(_files_of(self._said))


def _impersonation(user: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if user.get("as"):
        yield "Impersonate-User", str(user["as"])
    if user.get("as-uid"):
        yield "Impersonate-Uid", str(user["as-uid"])
    for group in user.get("as-groups") or ():
        yield "Impersonate-Group", str(group)
    for key, values in (user.get("as-user-extra") or {}).items():
        for value in values:
            yield f"Impersonate-Extra-{key}", str(value)
