"""Rules of requests for certificates."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import Field
from stowplan.embedded.admission.validation.services import check_domain
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.types import release

_LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
_LEAST_SECONDS: Final = 600
_DECISIONS: Final = ("Approved", "Denied", "Failed")
_STATES: Final = ("False", "True", "Unknown")


def check_request(request: Field) -> None:
    """Check a request for a certificate."""
    spec, usages = request["spec"], request["spec"]["usages"]
    spec["request"].check(_request)
    usages.check_needed()
    for usage in usages:
        usage.check_one_of(release.choices("io.k8s.api.certificates.v1.CertificateSigningRequestSpec", "usages"))
    taken: set[str] = set()
    for usage in usages:
        usage.check_unique(taken)
    _check_signer(spec["signerName"])
    seconds = spec["expirationSeconds"]
    if seconds.value is not None and seconds.value < _LEAST_SECONDS:
        seconds.invalid("may not specify a duration less than 600 seconds (10 minutes)")
    _check_conditions(request["status"]["conditions"])


def check_request_update(request: Field, before: Object) -> None:
    """A decision stays, and so does the certificate that was given."""
    status = request["status"]
    kinds, old_kinds = (
        [each.get("type", "") for each in reading.entries(obj, "status", "conditions")]
        for obj in (request.value, before)
    )
    for kind in _DECISIONS:
        if kinds.count(kind) < old_kinds.count(kind):
            status["conditions"].forbidden(f'updates may not remove a condition of type "{kind}"')
    given, old = status.get("certificate") or "", reading.text(before, "status", "certificate")
    if given == old:
        return
    if problem := _certificate_problem(given):
        status["certificate"].invalid(problem, "<certificate data>")
    if old:
        status["certificate"].forbidden("updates may not modify existing certificate content")


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


def _request(text: str) -> Iterator[str]:
    """What is wrong with the request itself, which has to be signed by the key that it is for."""
    # Most objects are of other kinds, and it takes a while to load.
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        pem = base64.b64decode(text, validate=True)
        if b"-----BEGIN CERTIFICATE REQUEST-----" not in pem:
            yield "PEM block type must be CERTIFICATE REQUEST"
        elif not x509.load_pem_x509_csr(pem).is_signature_valid:
            yield "x509: signature is not valid"
    except (binascii.Error, ValueError, UnsupportedAlgorithm) as error:
        yield f"x509: {error}"


def _check_signer(name: Field) -> None:
    if not name.check_needed():
        return
    domain, slash, rest = name.value.partition("/")
    if name.value == _LEGACY_SIGNER:
        name.invalid("the legacy signerName is not allowed via this API version")
    elif not slash or "/" in rest:
        name.invalid("must be a fully qualified domain and path of the form 'example.com/signer-name'")
    else:
        check_domain(Field(name.problems, name.path, domain))
        Field(name.problems, name.path, rest).check(names.subdomain)


def _check_conditions(conditions: Field) -> None:
    taken: set[str] = set()
    for condition in conditions:
        kind = condition["type"]
        kind.check_needed()
        condition["status"].check_needed_one_of(("True",) if kind.value in _DECISIONS else _STATES)
        kind.check_unique(taken)
        if kind.value in ("Approved", "Denied") and {"Approved", "Denied"} <= taken:
            conditions.invalid("Approved and Denied conditions are mutually exclusive", kind.value)
