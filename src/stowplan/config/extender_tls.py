"""Whether certificates and keys that are written in `tlsConfig` of an extender are any, in the words of Go's library.

Those in files, and what is in a certificate, are looked at where the extender is made (`extender/transport.py`).
"""

from __future__ import annotations

import binascii
import re
from typing import Final, NamedTuple

from stowplan.config.types import ExtenderTLSConfig
from stowplan.model import base64_text

_BLOCK: Final = re.compile(
    rb"^-----BEGIN ([^\n]*?)-----[ \t\r]*\n((?:[^\n:-]*:[^\n]*\n)*)([^-]*?)-----END \1-----[ \t\r]*(?:\n|\Z)",
    re.MULTILINE,
)
_CERTIFICATE: Final = "CERTIFICATE"
_KEY: Final = "PRIVATE KEY"


class TLSProblem(NamedTuple):
    """What is wrong, and with which field."""

    text: str
    field: str = ""


def problem_with(tls: ExtenderTLSConfig) -> TLSProblem | None:
    """Find the first thing that keeps an extender from being made; None if nothing does."""
    if tls.insecure and (tls.ca_file or tls.ca_data):
        return TLSProblem("specifying a root certificates file with the insecure flag is not allowed")
    if tls.ca_data and (problem := _authority_problem(base64_text.decoded(tls.ca_data))):
        return TLSProblem(f"unable to load root certificates: {problem}", "caData")
    # A certificate counts together with its key only.
    if (tls.cert_data or tls.cert_file) and (tls.key_data or tls.key_file):
        if tls.cert_data and (problem := _certificate_problem(_types(tls.cert_data))):
            return TLSProblem(f"tls: {problem}", "certData")
        if tls.key_data and (problem := _key_problem(_types(tls.key_data))):
            return TLSProblem(f"tls: {problem}", "keyData")
    return None


def _authority_problem(pem: bytes) -> str:
    blocks = list(_blocks(pem))
    if any(kind == _CERTIFICATE and not headers for kind, headers, _ in blocks):
        return ""
    ends_whole = bool(blocks) and blocks[-1][2] == len(pem)
    return "no valid certificate authority data seen" if ends_whole else "unable to parse bytes as PEM block"


def _certificate_problem(types: list[str]) -> str:
    if _CERTIFICATE in types:
        return ""
    if not types:
        return "failed to find any PEM data in certificate input"
    if len(types) == 1 and types[0].endswith(_KEY):
        switched = "but did find a private key; PEM inputs may have been switched"
        return f"failed to find certificate PEM data in certificate input, {switched}"
    return f'failed to find "{_CERTIFICATE}" PEM block in certificate input after {_skipped(types)}'


def _key_problem(types: list[str]) -> str:
    if any(each == _KEY or each.endswith(f" {_KEY}") for each in types):
        return ""
    if not types:
        return "failed to find any PEM data in key input"
    if types == [_CERTIFICATE]:
        return "found a certificate rather than a key in the PEM for the private key"
    return f'failed to find PEM block with type ending in "{_KEY}" in key input after {_skipped(types)}'


def _skipped(types: list[str]) -> str:
    return f"skipping PEM blocks of the following types: [{' '.join(types)}]"


def _types(data: str) -> list[str]:
    return [kind for kind, _, _ in _blocks(base64_text.decoded(data))]


def _blocks(pem: bytes) -> list[tuple[str, bytes, int]]:
    """Find the blocks: what each is of, its headers, and where it ends."""
    found = []
    for match in _BLOCK.finditer(pem):
        try:
            binascii.a2b_base64(b"".join(match[3].split()), strict_mode=bool(match[3].strip()))
        except binascii.Error:
            continue
        found.append((match[1].decode("utf-8", "replace"), match[2], match.end()))
    return found
