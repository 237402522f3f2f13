"""Why an extender could not be asked, in the words of upstream's HTTP client: users find them in events and conditions.

OpenSSL says less of a certificate than is to be told, and looks at other things first. So a certificate that will not
do is fetched once more, unchecked, only to be described.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import ssl
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from cryptography import x509
from yarl import URL

from stowplan.kube.identity import tls_context

TOO_SLOW: Final = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
CUT_SHORT: Final = "unexpected EOF"
TOO_SLOW_BODY: Final = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"

NO_TLS: Final = "http: server gave HTTP response to HTTPS client"

_NO_HANDSHAKE: Final = "tls: first record does not look like a TLS handshake"
#: What begins like TLS, and ends the line for those who read lines.
_HELLO: Final = b"\x16\x03\x01\x02\x00\r\n\r\n"
_LOOK_SECONDS: Final = 5.0
_MOST_NAMES: Final = 100
_HIGHEST_PORT: Final = 65535
_EXPIRED: Final = frozenset((9, 10))
_ADDRESS: Final = re.compile(r"\('([^']+)', (\d+)")
#: What the other side says when it breaks off, by the name that OpenSSL has for it.
_ALERTS: Final = {
    "BAD_CERTIFICATE": "bad certificate",
    "UNSUPPORTED_CERTIFICATE": "unsupported certificate",
    "CERTIFICATE_REVOKED": "revoked certificate",
    "CERTIFICATE_EXPIRED": "expired certificate",
    "CERTIFICATE_UNKNOWN": "unknown certificate",
    "CERTIFICATE_REQUIRED": "certificate required",
    "UNKNOWN_CA": "unknown certificate authority",
    "ACCESS_DENIED": "access denied",
    "HANDSHAKE_FAILURE": "handshake failure",
    "PROTOCOL_VERSION": "protocol version not supported",
    "INSUFFICIENT_SECURITY": "insufficient security level",
    "INTERNAL_ERROR": "internal error",
    "UNRECOGNIZED_NAME": "unrecognized name",
}


async def describe(fault: Exception, address: str, server_name: str) -> str:
    """Say what came between us and the reply."""
    misread = _address_problem(address)
    if misread:
        return misread
    url = URL(address)
    if isinstance(fault, aiohttp.ClientConnectorCertificateError):
        problem = await _certificate_problem(fault.certificate_error, url, server_name or url.host or "")
        return f"tls: failed to verify certificate: x509: {problem}"
    if isinstance(fault, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {url.host}: no such host"
    if isinstance(fault, aiohttp.ServerDisconnectedError):
        return "EOF"
    broken_tls = _tls_problem(fault)
    if broken_tls:
        return broken_tls if broken_tls != NO_TLS or await _speaks_http(url) else _NO_HANDSHAKE
    if isinstance(fault, aiohttp.ClientConnectorError):
        return f"dial tcp {_address(fault, url)}: connect: {_reason(fault.os_error)}"
    if isinstance(fault, OSError) and fault.errno:
        return f"read: {_reason(fault)}"
    return str(fault) or type(fault).__name__


def _address_problem(address: str) -> str:
    """Say what is wrong with an address that nothing can be asked at; empty if it could be."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https"):
        return f'unsupported protocol scheme "{parts.scheme}"'
    if not parts.netloc:
        return "http: no Host in request URL"
    port = parts.netloc.rpartition(":")[2]
    if port.isdigit() and int(port) > _HIGHEST_PORT:
        return f"dial tcp: address {port}: invalid port"
    return ""


def _reason(fault: OSError) -> str:
    text = os.strerror(fault.errno) if fault.errno else str(fault)
    return text[:1].lower() + text[1:]


def _address(fault: aiohttp.ClientConnectorError, url: URL) -> str:
    """Return the address that was tried, the first if there are several."""
    tried = _ADDRESS.search(str(fault.os_error))
    host, port = tried.groups() if tried is not None else (fault.host, str(fault.port or url.port))
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _tls_problem(fault: BaseException | None) -> str:
    """Say what went wrong between the two sides of TLS; empty if it was something else."""
    if isinstance(fault, aiohttp.ClientConnectorError):
        fault = fault.os_error
    elif not isinstance(fault, ssl.SSLError):
        fault = getattr(fault, "__cause__", None)
    if not isinstance(fault, ssl.SSLError):
        return ""
    reason = str(fault.reason or fault)
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return NO_TLS
    for name, text in _ALERTS.items():
        if reason.endswith(name):
            return f"remote error: tls: {text}"
    return f"tls: {reason.lower().replace('_', ' ')}"


async def _speaks_http(url: URL) -> bool:
    """Say whether a server without TLS answers as HTTP does, which old ones do not when they understand nothing."""
    try:
        async with asyncio.timeout(_LOOK_SECONDS):
            reader, writer = await asyncio.open_connection(url.host, url.port)
            try:
                writer.write(_HELLO)
                return await reader.readexactly(5) == b"HTTP/"
            finally:
                writer.transport.abort()
    except (OSError, EOFError, TimeoutError):
        return False


# Certificates


async def _certificate_problem(fault: Exception, url: URL, host: str) -> str:
    """Say what is wrong with a certificate, in upstream's order: its time, its names, its authority."""
    unknown = "certificate signed by unknown authority"
    found = await _fetch_certificate(url, host)
    if found is None:
        return unknown
    if getattr(fault, "verify_code", 0) in _EXPIRED:
        times = f"{found.not_valid_before_utc:%Y-%m-%dT%H:%M:%SZ} to {found.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}"
        return f"certificate has expired or is not yet valid: it is valid from {times}"
    return _name_problem(found, host) or unknown


async def _fetch_certificate(url: URL, host: str) -> x509.Certificate | None:
    context = tls_context(is_insecure=True)
    try:
        async with asyncio.timeout(_LOOK_SECONDS):
            opened = asyncio.open_connection(url.host, url.port, ssl=context, server_hostname=host)
            _, writer = await opened
    except (OSError, TimeoutError):
        return None
    try:
        data = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return x509.load_der_x509_certificate(data) if data else None
    except ValueError:
        return None
    finally:
        writer.transport.abort()


def _name_problem(found: x509.Certificate, host: str) -> str:
    """Say why a certificate is not for this host; empty if it is."""
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        names = x509.SubjectAlternativeName([])
    if _is_address(host):
        valid = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
        if not valid:
            return f"cannot validate certificate for {host} because it doesn't contain any IP SANs"
        is_valid = str(ipaddress.ip_address(host)) in valid
    else:
        valid = names.get_values_for_type(x509.DNSName)
        is_valid = any(_matches(pattern, host) for pattern in valid)
    if is_valid:
        return ""
    if not valid:
        return f"certificate is not valid for any names, but wanted to match {host}"
    if len(valid) >= _MOST_NAMES:
        return f"certificate is valid for {len(valid)} names, but none matched {host}"
    return f"certificate is valid for {', '.join(valid)}, not {host}"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _matches(pattern: str, host: str) -> bool:
    """Say whether a name is the host's; a star stands for the first part of it."""
    first, _, rest = host.lower().rstrip(".").partition(".")
    wanted = pattern.lower()
    return wanted == f"{first}.{rest}".rstrip(".") or (bool(rest) and wanted == f"*.{rest}")
