"""Whom an extender's connection trusts, and which certificate it shows: `tlsConfig`, as client-go understands it.

Data wins over a file of the same meaning. A client certificate counts only together with its key. `enableHTTPS` without
a CA means that any server is believed.
"""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from tempfile import TemporaryDirectory

from stowplan.config.errors import ConfigError
from stowplan.config.types import ExtenderConfig, ExtenderTLSConfig

Trust = ssl.SSLContext | bool


def trust(extender: ExtenderConfig) -> Trust:
    """Return how to check the server: True is what the system does. Raise ConfigError if a certificate is no good."""
    tls = extender.tls_config or ExtenderTLSConfig()
    authority = _pem(extender, tls.ca_data, tls.ca_file, "ca")
    certificate = _pem(extender, tls.cert_data, tls.cert_file, "cert")
    key = _pem(extender, tls.key_data, tls.key_file, "key")
    # What is named counts, not what is in it: an empty CA file must not switch the check off.
    is_blind = tls.insecure or (extender.enable_https and not (tls.ca_data or tls.ca_file))
    shows = bool((tls.cert_data or tls.cert_file) and (tls.key_data or tls.key_file))
    if not (authority or is_blind or shows):
        return True
    context = _context(extender, authority)
    if is_blind:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if shows:
        _show(extender, context, certificate, key)
    return context


def _context(extender: ExtenderConfig, authority: bytes) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    except (ssl.SSLError, ValueError) as fault:
        raise _unusable(extender, "ca", f"no certificate in PEM form ({fault})") from None
    # As Go does: any certificate given is an anchor, and a name must be a subject alternative name.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.hostname_checks_common_name = False
    return context


def _show(extender: ExtenderConfig, context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a client certificate; the standard library takes it only from files."""
    with TemporaryDirectory() as directory:
        chain = Path(directory, "chain.pem")
        chain.write_bytes(key.rstrip() + b"\n" + certificate)
        try:
            # A password that is wrong keeps OpenSSL from asking for one at the terminal.
            context.load_cert_chain(chain, password="")
        except (ssl.SSLError, ValueError) as fault:
            problem = f"no certificate and unencrypted key in PEM form that belong together ({fault})"
            raise _unusable(extender, "cert", problem) from None


def _pem(extender: ExtenderConfig, data: str, file: str, what: str) -> bytes:
    try:
        if data:
            return base64.b64decode("".join(data.split()), validate=True)
        return Path(file).read_bytes() if file else b""
    except (OSError, ValueError) as fault:
        raise _unusable(extender, what, str(fault)) from None


def _unusable(extender: ExtenderConfig, what: str, problem: str) -> ConfigError:
    where = f'extender "{extender.url_prefix}": tlsConfig.{what}Data or {what}File'
    return ConfigError("construct", f"couldn't build extenders: {where}: {problem}")
