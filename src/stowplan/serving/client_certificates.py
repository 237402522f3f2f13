"""Client certificates: whom one stands for, and which authority signed it.

TLS has verified a certificate by the time it is looked at here, against all authorities together. Which of them it was
decides whether it names a user or a proxy that may name users in headers.
"""

from __future__ import annotations

from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from stowplan.serving.identity import User

_MISFIT: Final = (ValueError, TypeError, InvalidSignature)


class Authorities:
    """A bundle of certificates of authorities, in PEM."""

    def __init__(self, pem: str) -> None:
        self.pem = pem
        self._certificates = x509.load_pem_x509_certificates(pem.encode())

    def have_signed(self, certificate: x509.Certificate) -> bool:
        """Say whether one of these authorities signed a certificate."""
        return any(_is_signed_by(certificate, authority) for authority in self._certificates)


def read(der: bytes) -> x509.Certificate:
    """Read a certificate as TLS hands it over."""
    return x509.load_der_x509_certificate(der)


def common_name(certificate: x509.Certificate) -> str:
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if names else ""


def user_of(certificate: x509.Certificate) -> User | None:
    """Return the user that a certificate stands for: its common name, in the groups of its organizations."""
    name = common_name(certificate)
    groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return User(name, tuple(str(group.value) for group in groups)) if name else None


def _is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except _MISFIT:
        return False
    return True
