"""Certificates of an extender: what counts, and what is said about those that are no good."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from stowplan.config.errors import ConfigError
from stowplan.config.types import ExtenderConfig, ExtenderTLSConfig
from stowplan.extender.transport import tls_trust


def text(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


AUTHORITY = trustme.CA()
CLIENT = AUTHORITY.issue_cert("scheduler.test")
CERTIFICATE, KEY = text(CLIENT.cert_chain_pems[0].bytes()), text(CLIENT.private_key_pem.bytes())
OTHER_KEY = text(AUTHORITY.issue_cert("other.test").private_key_pem.bytes())
GARBAGE = text(b"not a certificate")
ENCRYPTED_KEY = text(
    serialization.load_pem_private_key(CLIENT.private_key_pem.bytes(), None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
)


@pytest.mark.parametrize(
    "extender",
    [
        pytest.param(ExtenderConfig(), id="nothing is said"),
        pytest.param(ExtenderConfig(tls_config=ExtenderTLSConfig()), id="nothing in particular is said"),
        pytest.param(ExtenderConfig(tls_config=ExtenderTLSConfig(server_name="x")), id="only a name"),
        pytest.param(
            ExtenderConfig(tls_config=ExtenderTLSConfig(cert_data=CERTIFICATE)), id="a certificate without its key"
        ),
        pytest.param(ExtenderConfig(tls_config=ExtenderTLSConfig(key_data=KEY)), id="a key without its certificate"),
    ],
)
def test_the_system_decides_whom_to_trust(extender: ExtenderConfig) -> None:
    assert tls_trust(extender) is True


@pytest.mark.parametrize(
    ("extender", "verifies"),
    [
        pytest.param(ExtenderConfig(enable_https=True), False, id="HTTPS without an authority"),
        pytest.param(ExtenderConfig(tls_config=ExtenderTLSConfig(insecure=True)), False, id="told so"),
        pytest.param(
            ExtenderConfig(enable_https=True, tls_config=ExtenderTLSConfig(cert_data=CERTIFICATE, key_data=KEY)),
            False,
            id="HTTPS with a client certificate only",
        ),
        pytest.param(
            ExtenderConfig(tls_config=ExtenderTLSConfig(cert_data=CERTIFICATE, key_data=KEY)),
            True,
            id="a certificate only",
        ),
        pytest.param(
            ExtenderConfig(enable_https=True, tls_config=ExtenderTLSConfig(ca_data=text(AUTHORITY.cert_pem.bytes()))),
            True,
            id="HTTPS with an authority",
        ),
    ],
)
def test_servers_are_verified_unless_there_is_nothing_to_go_by(extender: ExtenderConfig, verifies: bool) -> None:
    context = tls_trust(extender)
    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode == (ssl.CERT_REQUIRED if verifies else ssl.CERT_NONE)
    assert context.check_hostname is verifies


@pytest.mark.parametrize(
    ("tls", "problem"),
    [
        pytest.param(ExtenderTLSConfig(ca_file="no-such.pem"), "tlsConfig.caData or caFile: ", id="no such file"),
        pytest.param(
            ExtenderTLSConfig(ca_data=GARBAGE), "tlsConfig.caData or caFile: no certificate in PEM form", id="no CA"
        ),
        pytest.param(
            ExtenderTLSConfig(ca_data=text(b"\xff")), "tlsConfig.caData or caFile: no certificate", id="not text"
        ),
        pytest.param(ExtenderTLSConfig(ca_data="!"), "tlsConfig.caData or caFile: ", id="no base64"),
        pytest.param(
            ExtenderTLSConfig(cert_data=CERTIFICATE, key_data=ENCRYPTED_KEY),
            "tlsConfig.certData or certFile: no certificate and unencrypted key",
            id="a key under a password",
        ),
        pytest.param(
            ExtenderTLSConfig(cert_data=GARBAGE, key_data=KEY), "tlsConfig.certData or certFile: ", id="no certificate"
        ),
        pytest.param(
            ExtenderTLSConfig(cert_data=CERTIFICATE, key_data=OTHER_KEY),
            "tlsConfig.certData or certFile: no certificate and unencrypted key in PEM form that belong together",
            id="another's key",
        ),
    ],
)
def test_a_certificate_that_is_no_good_is_named(tls: ExtenderTLSConfig, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tls_trust(ExtenderConfig(url_prefix="https://ext", tls_config=tls))
    assert caught.value.stage == "construct"
    assert caught.value.message.startswith(f'couldn\'t build extenders: extender "https://ext": {problem}')


def test_an_empty_authority_does_not_switch_the_check_off(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.touch()
    assert tls_trust(ExtenderConfig(enable_https=True, tls_config=ExtenderTLSConfig(ca_file=str(path)))) is True


def test_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    AUTHORITY.cert_pem.write_to_path(str(path))
    context = tls_trust(ExtenderConfig(tls_config=ExtenderTLSConfig(ca_file=str(path))))
    assert isinstance(context, ssl.SSLContext)
    assert len(context.get_ca_certs()) == 1
