"""How clients come to an embedded cluster: where it listens, with which certificate, and what they have to show."""

from __future__ import annotations

import re
import secrets
import ssl
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from stowplan.embedded.http.origin import canonical
from stowplan.embedded.http.server import ServerOptions, Serving, UnsafeAddressError, check_address, serve
from stowplan.embedded.registry.api import Api
from stowplan.kube.identity import Credentials, Fixed, TlsFiles, Trust
from stowplan.kube.local_kubeconfig import Access

USUAL_PORT: Final = 6443
_SYSTEM: Final = "kube-system"
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----\s[^-]+-----END CERTIFICATE-----\s*")
_AUTHORITIES: Final = "extension-apiserver-authentication"


class EntranceError(Exception):
    """The API cannot be served as asked; the text names the option."""


@dataclass(frozen=True, slots=True)
class Entrance:
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


def with_admin_token(entrance: Entrance) -> Entrance:
    """Return an entrance that knows the one who has its kubeconfig; the token is drawn anew each time."""
    if entrance.token or not entrance.certificate:
        return entrance
    return replace(entrance, admin_token=secrets.token_urlsafe())


def check_entrance(entrance: Entrance) -> None:
    """Refuse an entrance that is not safe, before anything is started. Raise EntranceError."""
    for name in entrance.allowed_hosts:
        if canonical(name) is None:
            remedy = "give a name or an address alone, without scheme, port and wildcard, such as host.docker.internal"
            raise EntranceError(f"--allow-host {name!r} is not a host: {remedy}")
    try:
        check_address(_server_options(entrance, entrance.port or 0, ServerOptions()))
    except UnsafeAddressError as error:
        raise EntranceError(f"--bind-address: {error}; --token and --cert give both") from None


async def open_to_clients(api: Api, entrance: Entrance, beyond: ServerOptions) -> Serving:
    """Serve on the port that is asked for; if none is, on the usual one, or on a free one if that is taken.

    `beyond` says what the entrance does not.
    """
    for port in (entrance.port,) if entrance.port is not None else (USUAL_PORT, 0):
        try:
            return await serve(api, _server_options(entrance, port, beyond))
        except OSError as error:
            problem = f"--bind-address {entrance.host} --port {port}: {error.strerror or error}"
    raise EntranceError(f"{problem}; choose another port, or 0 for a free one")


def _server_options(entrance: Entrance, port: int, beyond: ServerOptions) -> ServerOptions:
    return replace(
        beyond,
        host=entrance.host,
        port=port,
        token=entrance.token,
        admin_token=entrance.admin_token,
        tls=tls_of(entrance),
        names=names_of(entrance),
    )


def names_of(entrance: Entrance) -> tuple[str, ...]:
    """Return what clients call the server by beside its address; a certificate is for names that are its owner's."""
    if not entrance.certificate:
        return entrance.allowed_hosts
    certified, _ = _certified(Path(entrance.certificate).read_text(encoding="utf-8"))
    return (*entrance.allowed_hosts, *certified)


def tls_of(entrance: Entrance) -> ssl.SSLContext | None:
    """Return what TLS needs; None without TLS. Raise EntranceError if files cannot be used."""
    if not entrance.certificate:
        for option, given in (("--key", entrance.key), ("--client-ca", entrance.client_authority)):
            if given:
                raise EntranceError(f"{option} is of no use alone; give the certificate with --cert")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # A password that is wrong keeps OpenSSL from asking for one at the terminal.
        context.load_cert_chain(entrance.certificate, entrance.key or None, password="")
    except (OSError, ValueError) as error:
        what = f"--cert {entrance.certificate}" + (f" --key {entrance.key}" if entrance.key else "")
        remedy = "give PEM files, the key unencrypted and the one of the certificate"
        raise EntranceError(f"{what}: {error}; {remedy}") from None
    if entrance.client_authority:
        _ask_for_certificates(context, entrance.client_authority)
    return context


def _ask_for_certificates(context: ssl.SSLContext, authority: str) -> None:
    context.verify_mode = ssl.CERT_OPTIONAL
    try:
        context.load_verify_locations(authority)
    except OSError as error:
        raise EntranceError(f"--client-ca {authority}: {error}; give a PEM file") from None


def publish_authority(api: Api, entrance: Entrance) -> None:
    """Write down whose client certificates are believed, where other components of a cluster look for it."""
    resource = api.catalogue.of_kind("v1", "ConfigMap")
    if not entrance.client_authority or resource is None:
        return
    data = {"client-ca-file": Path(entrance.client_authority).read_text(encoding="utf-8")}
    content = {"metadata": {"name": _AUTHORITIES, "namespace": _SYSTEM}, "data": data}
    if api.store.get(resource, _SYSTEM, _AUTHORITIES) is None:
        api.create(resource, _SYSTEM, content)
    else:
        api.update(resource, _SYSTEM, _AUTHORITIES, content)


def access_to(url: str, entrance: Entrance) -> Access:
    """Return how the cluster is reached from this machine."""
    # An address that stands for all of them is none that can be called.
    server = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    if not entrance.certificate:
        return Access(server, entrance.token)
    authority = authority_of(entrance)
    return Access(server, entrance.token or entrance.admin_token, authority, _certified_name(authority))


def authority_of(entrance: Entrance) -> str:
    """Return the certificates by which clients know the server, as PEM; "" without TLS."""
    if not entrance.certificate:
        return ""
    # The file may hold the key as well, which is nobody else's business.
    return "".join(_CERTIFICATE.findall(Path(entrance.certificate).read_text(encoding="utf-8")))


def notes_on(entrance: Entrance) -> list[str]:
    """Say what clients may stumble over."""
    from cryptography import x509

    if not entrance.certificate:
        return []
    last = x509.load_pem_x509_certificates(authority_of(entrance).encode())[-1]
    if last.issuer == last.subject:
        return []
    issuer = last.issuer.rfc4514_string()
    remedy = "add its issuer to --cert, or clients may not trust it"
    return [f"--cert {entrance.certificate}: the certificate of {issuer} is not in it; {remedy}"]


def _certified_name(authority: str) -> str:
    """Return a name that the certificate is for, which may be another than the one that is called."""
    names, addresses = _certified(authority)
    return next(iter((*names, *addresses)), "")


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


def credentials_for(access: Access, entrance: Entrance) -> Credentials:
    """Return how the scheduler enters: by the same door as everybody."""
    authorization = Fixed(f"Bearer {access.token}" if access.token else "")
    # The certificate may be for another name than the address we listen on.
    trust = Trust(TlsFiles(authority=entrance.certificate, is_insecure=True)) if entrance.certificate else None
    return Credentials(access.server, authorization, trust)
