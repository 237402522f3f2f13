"""The server's side of TLS: the certificate it shows, made up if none is given, and whose client certificates it takes.

A certificate from files is read again when the files change, so that it can be renewed without a restart.
"""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import tempfile
from pathlib import Path
from typing import Final

import msgspec

PAIR_NAME: Final = "kube-scheduler"
VALID_DAYS: Final = 365
_VERSIONS: Final = {
    "": ssl.TLSVersion.TLSv1_2,
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}


class CertificateError(Exception):
    """A certificate cannot be used; the text names the flag and the file."""


class TlsSettings(msgspec.Struct, frozen=True):
    """What the secure serving flags of the same names say about TLS."""

    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    #: Where to find or leave `kube-scheduler.crt` and `.key` if no files are named; empty keeps them in memory.
    cert_dir: str = ""
    tls_min_version: str = ""
    #: Names as Go has them, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256.
    tls_cipher_suites: tuple[str, ...] = ()


class ServerCertificate:
    """The certificate in force, and the TLS context that shows it."""

    def __init__(self, settings: TlsSettings, client_authorities: str = "") -> None:
        self._cert, self._key = _files(settings)
        self._seen: tuple[float, ...] = ()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = _min_version(settings.tls_min_version)
        if settings.tls_cipher_suites:
            _choose_ciphers(self.context, settings.tls_cipher_suites)
        if client_authorities:
            # A certificate is welcome, not required: others come with a token, or as nobody.
            self.context.verify_mode = ssl.CERT_OPTIONAL
            self.context.load_verify_locations(cadata=client_authorities)
        self.is_self_signed = self._cert is None
        if self._cert is None:
            self._load_made_up(settings)
        else:
            self.reload()

    def reload(self) -> bool:
        """Read the files again if they have changed; say whether they had."""
        if self._cert is None or self._key is None:
            return False
        try:
            times = (self._cert.stat().st_mtime, self._key.stat().st_mtime)
            if times == self._seen:
                return False
            self.context.load_cert_chain(self._cert, self._key)
        except (OSError, ssl.SSLError) as error:
            what = f"--tls-cert-file {self._cert} and --tls-private-key-file {self._key}"
            raise CertificateError(f"{what}: cannot be used: {error}") from error
        self._seen = times
        return True

    def _load_made_up(self, settings: TlsSettings) -> None:
        try:
            with tempfile.TemporaryDirectory() as scratch:
                self._load_from(Path(settings.cert_dir or scratch), *self_signed())
        except OSError as error:
            remedy = "mount a folder that can be written to as /tmp, or give --tls-cert-file and --tls-private-key-file"
            raise CertificateError(f"a self-signed certificate cannot be written: {error}; {remedy}") from error

    def _load_from(self, folder: Path, cert: bytes, key: bytes) -> None:
        # OpenSSL takes files only.
        folder.mkdir(parents=True, exist_ok=True)
        cert_path, key_path = folder / f"{PAIR_NAME}.crt", folder / f"{PAIR_NAME}.key"
        cert_path.write_bytes(cert)
        key_path.touch(mode=0o600)
        key_path.write_bytes(key)
        self.context.load_cert_chain(cert_path, key_path)


def self_signed(now: datetime.datetime | None = None) -> tuple[bytes, bytes]:
    """Make a certificate for localhost and 127.0.0.1, signed by itself; return it and its key in PEM."""
    # Loaded here: who brings a certificate does not need it.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = now if now is not None else datetime.datetime.now(datetime.UTC)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"localhost@{int(now.timestamp())}")])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(hours=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
    builder = builder.add_extension(names, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return certificate.public_bytes(pem), private


def _choose_ciphers(context: ssl.SSLContext, names: tuple[str, ...]) -> None:
    try:
        context.set_ciphers(":".join(map(openssl_name, names)))
    except ssl.SSLError as error:
        raise CertificateError(f"--tls-cipher-suites {','.join(names)}: {error}; name suites of OpenSSL") from error


def openssl_name(go_name: str) -> str:
    """Translate Go's name of a cipher suite to OpenSSL's."""
    if "_WITH_" not in go_name:
        return go_name
    exchange, _, cipher = go_name.removeprefix("TLS_").partition("_WITH_")
    cipher = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_", "-")
    cipher = cipher.replace("-CBC-SHA256", "-SHA256").replace("-CBC-SHA", "-SHA")
    cipher = cipher.replace("CHACHA20-POLY1305-SHA256", "CHACHA20-POLY1305")
    return cipher if exchange == "RSA" else f"{exchange.replace('_', '-')}-{cipher}"


def _files(settings: TlsSettings) -> tuple[Path | None, Path | None]:
    if settings.tls_cert_file or settings.tls_private_key_file:
        if not (settings.tls_cert_file and settings.tls_private_key_file):
            raise CertificateError("--tls-cert-file and --tls-private-key-file go together; give both or neither")
        return Path(settings.tls_cert_file), Path(settings.tls_private_key_file)
    if settings.cert_dir:
        cert, key = (Path(settings.cert_dir) / f"{PAIR_NAME}{suffix}" for suffix in (".crt", ".key"))
        if cert.exists() and key.exists():
            return cert, key
    return None, None


def _min_version(name: str) -> ssl.TLSVersion:
    if name not in _VERSIONS:
        known = ", ".join(filter(None, _VERSIONS))
        raise CertificateError(f"--tls-min-version {name!r}: unknown tls version; one of: {known}")
    return _VERSIONS[name]
