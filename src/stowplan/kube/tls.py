"""Whom a connection trusts and which certificate it shows, from files that may be replaced while the process runs."""

from __future__ import annotations

import asyncio
import os
import ssl
from dataclasses import dataclass

_LOOK_AGAIN_SECONDS = 60.0


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
            context = ssl.create_default_context(cafile=self.authority or None)
            # As Go does: any certificate given is an anchor, and a name must be a subject alternative name.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
            context.hostname_checks_common_name = False
            if self.is_insecure:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if self.certificate:
                # A password that is wrong keeps OpenSSL from asking for one at the terminal.
                context.load_cert_chain(self.certificate, self.key or None, password="")
        except (OSError, ValueError) as fault:
            names = ", ".join(name for name in (self.authority, self.certificate, self.key) if name)
            raise CredentialsError(
                f"certificates {names}: {fault}; give PEM files, the key unencrypted and the one of the certificate"
            ) from None
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
