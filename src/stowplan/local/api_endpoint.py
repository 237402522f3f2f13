"""How clients reach an embedded cluster: where its API listens, with which certificate, and what they have to show.

The kubeconfig that `stowplan up` writes tells so to kubectl, and to our other commands.
"""

from __future__ import annotations

import base64
import fcntl
import os
import re
import secrets
import ssl
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from stowplan.embedded.http.origin import canonical
from stowplan.embedded.http.server import ServerOptions, Serving, UnsafeAddressError, check_address, serve
from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.objects import private_files
from stowplan.embedded.registry.api import Api
from stowplan.kube.identity import Credentials, Fixed, TlsFiles, Trust
from stowplan.kube.local_kubeconfig import DEFAULT_PATH, NAME, Access, read

USUAL_PORT: Final = 6443
_SYSTEM: Final = "kube-system"
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----\s[^-]+-----END CERTIFICATE-----\s*")
_AUTHORITIES: Final = "extension-apiserver-authentication"


class ApiEndpointError(Exception):
    """The API cannot be served as asked; the text names the option."""


@dataclass(frozen=True, slots=True)
class ApiEndpoint:
    """Where the API is, and who comes in."""

    host: str = "127.0.0.1"
    #: None takes the usual port, or a free one if that is taken.
    port: int | None = None
    token: str = field(default="", repr=False)
    certificate: str = ""
    key: str = ""
    #: The file of the authority whose client certificates are believed; "" for none.
    client_authority: str = ""
    #: What it is called by beside its address, `localhost` and the names of its certificate.
    allowed_hosts: tuple[str, ...] = ()
    #: What the kubeconfig shows where no token is needed: kubectl asks for a name and a password, over TLS, if it has
    #: nothing to show.
    admin_token: str = field(default="", repr=False)


def with_admin_token(endpoint: ApiEndpoint) -> ApiEndpoint:
    """Return an endpoint that knows who has its kubeconfig; the token is drawn anew each time."""
    if endpoint.token or not endpoint.certificate:
        return endpoint
    return replace(endpoint, admin_token=secrets.token_urlsafe())


def check_endpoint(endpoint: ApiEndpoint) -> None:
    """Refuse an endpoint that is not safe, before anything is started. Raise ApiEndpointError."""
    for name in endpoint.allowed_hosts:
        if canonical(name) is None:
            remedy = "give a name or an address alone, without scheme, port and wildcard, such as host.docker.internal"
            raise ApiEndpointError(f"--allow-host {name!r} is not a host: {remedy}")
    try:
        check_address(server_options(endpoint, endpoint.port or 0, ServerOptions()))
    except UnsafeAddressError as error:
        raise ApiEndpointError(f"--bind-address: {error}; --token and --cert give both") from None


async def open_to_clients(api: Api, endpoint: ApiEndpoint, beyond: ServerOptions) -> Serving:
    """Serve on the port that is asked for; if none is, on the usual one, or on a free one if that is taken.

    `beyond` says what the endpoint does not.
    """
    for port in (endpoint.port,) if endpoint.port is not None else (USUAL_PORT, 0):
        try:
            return await serve(api, server_options(endpoint, port, beyond))
        except OSError as error:
            problem = f"--bind-address {endpoint.host} --port {port}: {error.strerror or error}"
    raise ApiEndpointError(f"{problem}; choose another port, or 0 for a free one")


def server_options(endpoint: ApiEndpoint, port: int, beyond: ServerOptions) -> ServerOptions:
    """Say how a server is reached at the endpoint; `beyond` says what the endpoint does not."""
    return replace(
        beyond,
        host=endpoint.host,
        port=port,
        token=endpoint.token,
        admin_token=endpoint.admin_token,
        tls=tls_of(endpoint),
        names=_names_of(endpoint),
    )


def _names_of(endpoint: ApiEndpoint) -> tuple[str, ...]:
    """Return what clients call the server by beside its address; a certificate is for names that are its owner's."""
    if not endpoint.certificate:
        return endpoint.allowed_hosts
    certified, _ = _certified(Path(endpoint.certificate).read_text(encoding="utf-8"))
    return (*endpoint.allowed_hosts, *certified)


def tls_of(endpoint: ApiEndpoint) -> ssl.SSLContext | None:
    """Return what TLS needs; None without TLS. Raise ApiEndpointError if files cannot be used."""
    if not endpoint.certificate:
        for option, given in (("--key", endpoint.key), ("--client-ca", endpoint.client_authority)):
            if given:
                raise ApiEndpointError(f"{option} is of no use alone; give the certificate with --cert")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # A password that is wrong keeps OpenSSL from asking for one at the terminal.
        context.load_cert_chain(endpoint.certificate, endpoint.key or None, password="")
    except (OSError, ValueError) as error:
        what = f"--cert {endpoint.certificate}" + (f" --key {endpoint.key}" if endpoint.key else "")
        remedy = "give PEM files, the key unencrypted and the one of the certificate"
        raise ApiEndpointError(f"{what}: {error}; {remedy}") from None
    if endpoint.client_authority:
        context.verify_mode = ssl.CERT_OPTIONAL
        try:
            context.load_verify_locations(endpoint.client_authority)
        except OSError as error:
            raise ApiEndpointError(f"--client-ca {endpoint.client_authority}: {error}; give a PEM file") from None
    return context


def publish_authority(api: Api, endpoint: ApiEndpoint) -> None:
    """Write down whose client certificates are believed, where other components of a cluster look for it."""
    if not endpoint.client_authority:
        return
    resource = find_resource(api, "v1", "ConfigMap")
    data = {"client-ca-file": Path(endpoint.client_authority).read_text(encoding="utf-8")}
    content = {"metadata": {"name": _AUTHORITIES, "namespace": _SYSTEM}, "data": data}
    if api.store.get(resource, _SYSTEM, _AUTHORITIES) is None:
        api.create(resource, _SYSTEM, content)
    else:
        api.update(resource, _SYSTEM, _AUTHORITIES, content)


def access_to(url: str, endpoint: ApiEndpoint) -> Access:
    """Return how the cluster is reached from this machine."""
    # An address that stands for all of them is none that can be called.
    server = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    if not endpoint.certificate:
        return Access(server, endpoint.token)
    authority = authority_of(endpoint)
    # A name that the certificate is for, which may be another than the one that is called.
    names, addresses = _certified(authority)
    return Access(server, endpoint.token or endpoint.admin_token, authority, next(iter((*names, *addresses)), ""))


def authority_of(endpoint: ApiEndpoint) -> str:
    """Return the certificates by which clients know the server, as PEM; "" without TLS."""
    if not endpoint.certificate:
        return ""
    # The file may hold the key as well, which is nobody else's business.
    return "".join(_CERTIFICATE.findall(Path(endpoint.certificate).read_text(encoding="utf-8")))


def notes_on(endpoint: ApiEndpoint) -> list[str]:
    """Say what clients may stumble over."""
    from cryptography import x509

    if not endpoint.certificate:
        return []
    last = x509.load_pem_x509_certificates(authority_of(endpoint).encode())[-1]
    if last.issuer == last.subject:
        return []
    issuer = last.issuer.rfc4514_string()
    remedy = "add its issuer to --cert, or clients may not trust it"
    return [f"--cert {endpoint.certificate}: the certificate of {issuer} is not in it; {remedy}"]


def _certified(pem: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names and the addresses that a certificate is for."""
    from cryptography import x509

    certificate = x509.load_pem_x509_certificate(pem.encode())
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return (), ()
    addresses = names.get_values_for_type(x509.IPAddress)
    return tuple(names.get_values_for_type(x509.DNSName)), tuple(map(str, addresses))


def credentials_for(access: Access, endpoint: ApiEndpoint) -> Credentials:
    """Return how the scheduler enters: by the same door as everybody."""
    authorization = Fixed(f"Bearer {access.token}" if access.token else "")
    # The certificate may be for another name than the address we listen on.
    trust = Trust(TlsFiles(authority=endpoint.certificate, is_insecure=True)) if endpoint.certificate else None
    return Credentials(access.server, authorization, trust)


# The kubeconfig


class KubeconfigError(Exception):
    """The file cannot be written, or is not ours to write; the text names it and says what to do."""


def check_kubeconfig_free(path: Path) -> None:
    """Raise KubeconfigError if the file leads to a cluster that runs, or is another program's."""
    found = read(path)
    if found is None:
        if path.is_dir() or (path.is_file() and path.stat().st_size):
            what = "a folder" if path.is_dir() else "another program's"
            raise KubeconfigError(f"{path} is {what}; name another file with --kubeconfig")
    elif _is_held(path):
        raise KubeconfigError(
            f"{path} leads to a cluster that runs, at {found.server}; end that one, or name another file with"
            " --kubeconfig"
        )


def publish_kubeconfig(path: Path, access: Access) -> int:
    """Write the file, and hold it until the descriptor that comes back is closed or the process ends.

    Raise KubeconfigError if it is not free or cannot be written.
    """
    try:
        check_kubeconfig_free(path)
        return _put(path, kubeconfig_text(access))
    except private_files.NotPrivateError as error:
        raise KubeconfigError(str(error)) from None
    except OSError as error:
        problem = f"{path}: cannot be written: {error.strerror}"
        raise KubeconfigError(f"{problem}; name a file that can be with --kubeconfig") from None


def kubeconfig_text(access: Access) -> str:
    import yaml

    cluster: dict[str, Any] = {"server": access.server}
    if access.authority:
        cluster["certificate-authority-data"] = base64.b64encode(access.authority.encode()).decode()
    if access.server_name:
        cluster["tls-server-name"] = access.server_name
    if access.scheduler:
        # What kubectl does not know it leaves alone here.
        cluster["extensions"] = [{"name": NAME, "extension": {"scheduler": access.scheduler}}]
    user = {"token": access.token} if access.token else {}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": "default"}}],
        "current-context": NAME,
    }
    text: str = yaml.safe_dump(content, sort_keys=False)
    return text


def _put(path: Path, text: str) -> int:
    """Write the file, readable by its owner only: it may hold a token. Return its descriptor, which is locked."""
    is_ours = path == DEFAULT_PATH
    path.parent.mkdir(private_files.FOLDER_MODE if is_ours else 0o777, parents=True, exist_ok=True)
    if is_ours:
        private_files.close_folder(path.parent)
        # The folder is nobody's work: it must not end up in a repository.
        (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    # A reader finds the old file or the new one, never half of one.
    # Nobody knows its name beforehand, and it is new: where others may write, they have put nothing in its place.
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    scratch = Path(name)
    try:
        os.fchmod(descriptor, private_files.FILE_MODE)
        os.write(descriptor, text.encode())
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        scratch.replace(path)
    except BaseException:
        os.close(descriptor)
        scratch.unlink(missing_ok=True)
        raise
    return descriptor


def _is_held(path: Path) -> bool:
    """Say whether a process that lives has published the file: its lock goes with it, however it ends."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
