"""What a client needs to know before it may speak to a server: the address, whom to trust, how to say who is asking.

Certificates and tokens come from files that may be replaced while the process runs. `credentials.py` finds them,
and runs a plugin for its token.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

_LOOK_AGAIN_SECONDS = 60.0


class Authorization(Protocol):
    """Where the Authorization header comes from."""

    async def header(self) -> str:
        """Return the header's value, "" for none."""

    async def renew(self) -> None:
        """The server did not accept the last one: get another, if there is a way to."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The server's address, how to trust it, and how to say who is asking."""

    server: str
    authorization: Authorization
    #: None for a server that is spoken to without TLS.
    trust: Trust | None = None
    #: The name its certificate must be for; "" for the one in the address.
    server_name: str = ""
    proxy: str = ""
    #: Whom to act as: headers.
    impersonation: tuple[tuple[str, str], ...] = ()
    #: Makes a connection, if it is not made to the address of the server.
    dial: Callable[[], Awaitable[socket.socket]] | None = None


class CredentialsError(Exception):
    """Credentials that are missing or unusable; the text says which, where, and what to do."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """An authority ("" for those the system trusts), and a client certificate with its key ("" for none)."""

    authority: str = ""
    certificate: str = ""
    key: str = ""
    is_insecure: bool = False

    def stamp(self) -> tuple[int, ...]:
        """When the files were last written; changes when one is replaced."""
        return tuple(os.stat(name).st_mtime_ns for name in (self.authority, self.certificate, self.key) if name)

    def context(self) -> ssl.SSLContext:
        """Read the files; raise CredentialsError if they are no good."""
        try:
            context = tls_context(file=self.authority, is_insecure=self.is_insecure)
            if self.certificate:
                # A password that is wrong keeps OpenSSL from asking for one at the terminal.
                context.load_cert_chain(self.certificate, self.key or None, password="")
        except (OSError, ValueError) as fault:
            names = ", ".join(name for name in (self.authority, self.certificate, self.key) if name)
            raise CredentialsError(
                f"certificates {names}: {fault}; give PEM files, the key unencrypted and the one of the certificate"
            ) from None
        return context


def tls_context(*, file: str = "", data: str = "", is_insecure: bool = False) -> ssl.SSLContext:
    """Trust an authority in PEM ("" and "" for those the system trusts), or, if insecure, anybody."""
    context = ssl.create_default_context(cafile=file or None, cadata=data or None)
    # As Go does: any certificate given is an anchor, and a name must be a subject alternative name.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.hostname_checks_common_name = False
    if is_insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class Trust:
    """The TLS context of the files as they are now; looks at them again once a minute."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._context = files.context()
        self._stamp = files.stamp()
        self._looked_at: float | None = None

    def use(self, files: TlsFiles) -> None:
        """Show other certificates from now on."""
        if files != self._files:
            self._files, self._context, self._stamp = files, files.context(), files.stamp()

    def toward(self, authority: str, *, is_insecure: bool) -> Trust:
        """Show the same client certificate to another server, of which something else is expected."""
        return Trust(replace(self._files, authority=authority, is_insecure=is_insecure))

    def context(self) -> ssl.SSLContext:
        now = asyncio.get_running_loop().time()
        if self._looked_at is None or now - self._looked_at >= _LOOK_AGAIN_SECONDS:
            self._looked_at = now
            self._look_again()
        return self._context

    def _look_again(self) -> None:
        # Files that are being replaced may be missing or not match for a moment: what worked so far still does.
        try:
            stamp = self._files.stamp()
            if stamp != self._stamp:
                self._context, self._stamp = self._files.context(), stamp
        except (OSError, CredentialsError):
            return


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same every time; "" for a client that shows a certificate, or nothing."""

    value: str

    async def header(self) -> str:
        return self.value

    async def renew(self) -> None:
        return


class TokenFile:
    """A bearer token in a file, read again every minute: the kubelet replaces a pod's token long before it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._value = f"Bearer {self._read()}"
        self._read_at: float | None = None

    async def header(self) -> str:
        now = asyncio.get_running_loop().time()
        if self._read_at is None or now - self._read_at >= _LOOK_AGAIN_SECONDS:
            self._read_at = now
            await self.renew()
        return self._value

    async def renew(self) -> None:
        # A file that is being replaced may be missing for a moment: the old token is still good then.
        try:
            self._value = f"Bearer {self._read()}"
        except CredentialsError:
            return

    def _read(self) -> str:
        try:
            token = self._path.read_text(encoding="ascii").strip()
        except (OSError, ValueError) as fault:
            raise CredentialsError(f"token file {self._path}: {fault}; mount a service account token there") from None
        if not token:
            raise CredentialsError(f"token file {self._path} is empty; mount a service account token there")
        return token
