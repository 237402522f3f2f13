"""What is noted of a certificate: clients know the server by what is in its file, and nothing else."""

from __future__ import annotations

from pathlib import Path

import trustme

from stowplan.local.api_endpoint import ApiEndpoint, notes_on
from stowplan.serving.certificates import self_signed


def endpoint(folder: Path, *pems: bytes) -> ApiEndpoint:
    (folder / "pair.pem").write_bytes(b"".join(pems))
    return ApiEndpoint(certificate=str(folder / "pair.pem"))


def test_a_certificate_without_its_issuer_is_noted(tmp_path: Path) -> None:
    issued = trustme.CA(organization_name="Acme", organization_unit_name="Lab").issue_cert("localhost")
    asked = endpoint(tmp_path, issued.private_key_and_cert_chain_pem.bytes())
    assert notes_on(asked) == [
        f"--cert {tmp_path}/pair.pem: the certificate of OU=Lab,O=Acme is not in it;"
        " add its issuer to --cert, or clients may not trust it"
    ]


def test_with_its_issuer_all_is_well(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost").private_key_and_cert_chain_pem.bytes()
    assert notes_on(endpoint(tmp_path, issued, authority.cert_pem.bytes())) == []


def test_one_that_signed_itself_is_its_own_issuer(tmp_path: Path) -> None:
    assert notes_on(endpoint(tmp_path, *self_signed())) == []


def test_without_tls_there_is_nothing_to_note() -> None:
    assert notes_on(ApiEndpoint()) == []
