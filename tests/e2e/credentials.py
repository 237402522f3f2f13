"""Who is who on the test control plane: its certificate authority, client certificates and kubeconfig files."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trustme
import yaml


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as files."""

    certificate: Path
    key: Path


class Authority:
    """Issues the certificates of one control plane into one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ca = trustme.CA()
        self.certificate = folder / "ca.crt"
        self._ca.cert_pem.write_to_path(self.certificate)

    def server(self, name: str) -> Pair:
        """Issue a serving certificate for loopback."""
        return self._write(name, self._ca.issue_cert("127.0.0.1", "localhost"))

    def client(self, user: str, group: str | None = None) -> Pair:
        """Issue a certificate that authenticates as a user, in a group if one is given."""
        # Go refuses a certificate whose list of host names is empty.
        issued = self._ca.issue_cert("localhost", common_name=user, organization_name=group)
        return self._write(user.replace(":", "-"), issued)

    def ssl_context(self, client: Pair) -> ssl.SSLContext:
        """Return what an HTTPS client needs to be known as `client`."""
        context = ssl.create_default_context(cafile=self.certificate)
        context.load_cert_chain(client.certificate, client.key)
        return context

    def _write(self, name: str, issued: trustme.LeafCert) -> Pair:
        pair = Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        issued.cert_chain_pems[0].write_to_path(pair.certificate)
        issued.private_key_pem.write_to_path(pair.key)
        return pair


def certificate_user(pair: Pair) -> dict[str, Any]:
    """Return a kubeconfig user who shows a client certificate."""
    return {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}


def token_user(token: str) -> dict[str, Any]:
    """Return a kubeconfig user who shows a bearer token."""
    return {"token": token}


def write_kubeconfig(path: Path, server: str, authority: Path, user: dict[str, Any]) -> Path:
    """Write a kubeconfig with one cluster, one user and one context."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority": str(authority)}}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
        "current-context": "test",
    }
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path
