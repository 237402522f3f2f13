"""Checks requests for certificates."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.endpoints import check_domain
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.objects.resource import Object

_USAGES: Final = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
_LEAST_SECONDS: Final = 600
_DECISIONS: Final = ("Approved", "Denied", "Failed")
_STATES: Final = ("False", "True", "Unknown")
_SIGNER_RULE: Final = "must be a fully qualified domain and path of the form 'example.com/signer-name'"


def check_request(problems: Problems, request: Object) -> None:
    """Check a request for a certificate."""
    spec = request["spec"]
    if problem := _request_problem(spec.get("request", "")):
        problems.invalid("spec.request", spec.get("request", ""), problem)
    usages = spec.get("usages", [])
    if not usages:
        problems.required("spec.usages")
    for index, usage in enumerate(usages):
        problems.check_one_of(f"spec.usages[{index}]", usage, _USAGES)
    for index, usage in enumerate(usages):
        if usage in usages[:index]:
            problems.duplicate(f"spec.usages[{index}]", usage)
    _check_signer(problems, spec.get("signerName", ""), "spec.signerName")
    seconds = spec.get("expirationSeconds", _LEAST_SECONDS)
    if seconds < _LEAST_SECONDS:
        detail = "may not specify a duration less than 600 seconds (10 minutes)"
        problems.invalid("spec.expirationSeconds", seconds, detail)
    _check_conditions(problems, (request.get("status") or {}).get("conditions", ()))


def check_request_update(problems: Problems, request: Object, before: Object) -> None:
    """A decision stays, and so does the certificate that was given."""
    kinds, old = _kinds(request), _kinds(before)
    for kind in _DECISIONS:
        if kinds.count(kind) < old.count(kind):
            problems.forbidden("status.conditions", f'updates may not remove a condition of type "{kind}"')
    given, old_one = _certificate(request), _certificate(before)
    if given == old_one:
        return
    if problem := _certificate_problem(given):
        problems.invalid("status.certificate", "<certificate data>", problem)
    if old_one:
        problems.forbidden("status.certificate", "updates may not modify existing certificate content")


def _kinds(request: Object) -> list[str]:
    return [each.get("type", "") for each in (request.get("status") or {}).get("conditions", ())]


def _certificate(request: Object) -> str:
    return (request.get("status") or {}).get("certificate") or ""


def _certificate_problem(text: str) -> str:
    """What is wrong with what a signer gives: certificates in PEM, at least one, and nothing else."""
    if not text:
        return ""
    try:
        blocks = list(_blocks(base64.b64decode(text, validate=True)))
    except binascii.Error as error:
        return str(error)
    if not blocks:
        return "must contain at least one CERTIFICATE PEM block"
    return next(filter(None, (_block_problem(*block) for block in blocks)), "")


def _blocks(pem: bytes) -> Iterator[tuple[str, bytes]]:
    """Each PEM block's type and what is in it; text around them counts nothing."""
    for part in (b"\n" + pem.replace(b"\r\n", b"\n")).split(b"\n-----BEGIN ")[1:]:
        kind, _, rest = part.partition(b"-----\n")
        content, end, _ = rest.partition(b"-----END " + kind + b"-----")
        if end:
            yield kind.decode("latin-1"), content


def _block_problem(kind: str, content: bytes) -> str:
    from cryptography import x509

    if kind != "CERTIFICATE":
        return f'only CERTIFICATE PEM blocks are allowed, found "{kind}"'
    if b":" in content:
        return "no PEM block headers are permitted"
    if not content.strip():
        return "found CERTIFICATE PEM block containing 0 certificates"
    try:
        x509.load_der_x509_certificate(base64.b64decode(content))
    except ValueError:
        return "x509: malformed certificate"
    return ""


def _request_problem(text: str) -> str:
    """What is wrong with the request itself, which has to be signed by the key that it is for."""
    # Most objects are of other kinds, and it takes a while to load.
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        pem = base64.b64decode(text, validate=True)
        if b"-----BEGIN CERTIFICATE REQUEST-----" not in pem:
            return "PEM block type must be CERTIFICATE REQUEST"
        return "" if x509.load_pem_x509_csr(pem).is_signature_valid else "x509: signature is not valid"
    except (binascii.Error, ValueError, UnsupportedAlgorithm) as error:
        return f"x509: {error}"


def _check_signer(problems: Problems, name: str, path: str) -> None:
    if not name:
        problems.required(path)
        return
    if name == _LEGACY_SIGNER:
        problems.invalid(path, name, "the legacy signerName is not allowed via this API version")
        return
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        problems.invalid(path, name, _SIGNER_RULE)
        return
    check_domain(problems, domain, path)
    problems.each(path, rest, names.subdomain(rest))


def _check_conditions(problems: Problems, conditions: list[Object] | tuple[()]) -> None:
    path, taken = "status.conditions", list[str]()
    for index, condition in enumerate(conditions):
        kind, state = condition.get("type", ""), condition.get("status", "")
        if not kind:
            problems.required(f"{path}[{index}].type")
        problems.check_needed_one_of(f"{path}[{index}].status", state, ("True",) if kind in _DECISIONS else _STATES)
        if kind in taken:
            problems.duplicate(f"{path}[{index}].type", kind)
        if {"Approved", "Denied"} == {kind, *taken} & {"Approved", "Denied"} and kind in ("Approved", "Denied"):
            problems.invalid(path, kind, "Approved and Denied conditions are mutually exclusive")
        taken.append(kind)
