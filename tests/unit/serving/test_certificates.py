"""The server shows a certificate: one from files, or one of its own making."""

import os
import ssl
import tempfile
from pathlib import Path

import pytest
from cryptography import x509

from stowplan.serving.certificates import CertificateError, ServerCertificate, TlsSettings, openssl_name, self_signed


def write_pair(folder: Path) -> tuple[str, str]:
    cert, key = self_signed()
    (folder / "tls.crt").write_bytes(cert)
    (folder / "tls.key").write_bytes(key)
    return str(folder / "tls.crt"), str(folder / "tls.key")


def test_a_made_up_certificate_is_for_localhost() -> None:
    cert, _ = self_signed()
    found = x509.load_pem_x509_certificate(cert)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_a_made_up_certificate_is_left_in_the_directory_and_found_again(tmp_path: Path) -> None:
    settings = TlsSettings(cert_dir=str(tmp_path / "certs"))
    assert ServerCertificate(settings).is_self_signed
    assert (tmp_path / "certs" / "kube-scheduler.key").stat().st_mode & 0o777 == 0o600
    assert not ServerCertificate(settings).is_self_signed


def test_where_nothing_can_be_written_a_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(CertificateError, match=r"cannot be written: .*; mount a folder .* as /tmp, or give --tls-cert"):
        ServerCertificate(TlsSettings())


def test_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    settings = TlsSettings(*write_pair(tmp_path))
    certificate = ServerCertificate(settings)
    assert not certificate.reload()
    for path in write_pair(tmp_path):
        # However coarse the clock of the disk is.
        os.utime(path, ns=(0, 0))
    assert certificate.reload()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param(TlsSettings(tls_cert_file="a.crt"), "go together", id="a certificate without its key"),
        pytest.param(TlsSettings("none.crt", "none.key"), "--tls-cert-file none.crt", id="files that do not exist"),
        pytest.param(TlsSettings(tls_min_version="TLS9"), "--tls-min-version 'TLS9'", id="an unknown version"),
        pytest.param(
            TlsSettings(tls_cipher_suites=("TLS_NULL",)), "--tls-cipher-suites TLS_NULL", id="unknown ciphers"
        ),
    ],
)
def test_what_cannot_be_used_is_named(settings: TlsSettings, message: str) -> None:
    with pytest.raises(CertificateError, match=message):
        ServerCertificate(settings)


def test_the_lowest_version_is_the_one_asked_for() -> None:
    context = ServerCertificate(TlsSettings(tls_min_version="VersionTLS13")).context
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3


@pytest.mark.parametrize(
    ("go_name", "expected"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ],
)
def test_go_names_of_ciphers_are_understood(go_name: str, expected: str) -> None:
    assert openssl_name(go_name) == expected
