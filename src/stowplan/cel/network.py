"""The functions that Kubernetes adds to CEL for addresses, ranges of addresses and URLs.

Like quantities (`values.py`), what they make travels as maps of one entry.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from stowplan.cel.functions import Function
from stowplan.cel.values import CIDR, IP, URL, Carrier, NoOverloadError

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def of_network() -> list[Function]:
    """Return all of them. Those of features that are off are there too."""
    return [
        Function("ip", False, ("string",), "carrier", lambda text: {IP: str(_parse_ip(text))}),
        Function("isIP", False, ("string",), "bool", _is(_parse_ip)),
        Function("ip.isCanonical", False, ("string",), "bool", lambda text: str(_parse_ip(text)) == text),
        Function("cidr", False, ("string",), "carrier", lambda text: {CIDR: str(_parse_cidr(text))}),
        Function("isCIDR", False, ("string",), "bool", _is(_parse_cidr)),
        Function("containsIP", True, ("dyn", "dyn"), "bool", _contains_ip),
        Function("containsCIDR", True, ("dyn", "dyn"), "bool", _contains_cidr),
        Function("ip", True, ("dyn",), "carrier", _ip_of),
        Function("url", False, ("string",), "carrier", _url),
        Function("isURL", False, ("string",), "bool", _is(_url)),
        *(Function(name, True, ("dyn",), kind, _of(IP, name, answer)) for name, kind, answer in _OF_IP),
        *(Function(name, True, ("dyn",), kind, _of(CIDR, name, answer)) for name, kind, answer in _OF_CIDR),
        *(Function(name, True, ("dyn",), kind, _of(URL, name, answer)) for name, kind, answer in _OF_URL),
    ]


def _is(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def ask(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return ask


def _parse_ip(text: str) -> _Address:
    if "%" in text:
        raise ValueError(f'IP address "{text}" with zone value is not allowed')
    try:
        found = ipaddress.ip_address(text)
    except ValueError as error:
        raise ValueError(
            f'IP Address "{text}" parse error during conversion from string: ParseAddr("{text}"): unable to parse IP'
        ) from error
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return found


def _parse_cidr(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    if "/" not in text:
        what = "network address parse error during conversion from string"
        raise ValueError(f"{what}: {what}: netip.ParsePrefix(\"{text}\"): no '/'")
    if re.fullmatch(r"[0-9A-Fa-f:.]+/[0-9]{1,3}", text) is None:
        raise ValueError(f'network address parse error during conversion from string: netip.ParsePrefix("{text}")')
    _parse_ip(text.partition("/")[0])
    return ipaddress.ip_interface(text)


def _of(carried: str, name: str, answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a function of what one of the others made: an address, a range or a URL."""

    def ask(value: Any) -> Any:
        if not isinstance(value, dict) or carried not in value:
            raise NoOverloadError(name, value)
        return answer(_READ[carried](value[carried]))

    return ask


def _is_link_local_multicast(address: _Address) -> bool:
    group = "224.0.0.0/24" if address.version == ipaddress.IPV4LENGTH // 8 else "ff02::/16"
    return address in ipaddress.ip_network(group)


def _is_global_unicast(address: _Address) -> bool:
    is_special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not is_special and str(address) != "255.255.255.255"


def _network(value: Any, name: str) -> _Network:
    found: _Network = _of(CIDR, name, lambda network: network)(value)
    return found


def _contains_ip(value: Any, wanted: Any) -> bool:
    address = _parse_ip(wanted) if isinstance(wanted, str) else ipaddress.ip_address(wanted[IP])
    network = _network(value, "containsIP")
    return address.version == network.version and address in network


def _contains_cidr(value: Any, wanted: Any) -> bool:
    other = _parse_cidr(wanted).network if isinstance(wanted, str) else _network(wanted, "containsCIDR")
    network = _network(value, "containsCIDR")
    if isinstance(network, ipaddress.IPv4Network):
        return isinstance(other, ipaddress.IPv4Network) and other.subnet_of(network)
    return isinstance(other, ipaddress.IPv6Network) and other.subnet_of(network)


def _ip_of(value: Any) -> Carrier:
    _network(value, "ip")
    return {IP: value[CIDR].partition("/")[0]}


def _url(text: str) -> Carrier:
    if re.search(r"[\x00-\x20\x7f]", text) or not (text.startswith("/") or _SCHEME.match(text)):
        raise ValueError(f'URL parse error during conversion from string: parse "{text}": invalid URI for request')
    port = urlsplit(text).port
    return {URL: text if port is None or port >= 0 else ""}


_READ: Final[dict[str, Callable[[str], Any]]] = {
    IP: ipaddress.ip_address,
    CIDR: lambda text: ipaddress.ip_interface(text).network,
    URL: urlsplit,
}
#: Functions of addresses, of ranges and of URLs: their name, the type of the answer, and the answer.
_Functions = tuple[tuple[str, str, Callable[[Any], Any]], ...]
_OF_IP: Final[_Functions] = (
    ("family", "int", lambda address: address.version),
    ("isUnspecified", "bool", lambda address: address.is_unspecified),
    ("isLoopback", "bool", lambda address: address.is_loopback),
    ("isLinkLocalMulticast", "bool", _is_link_local_multicast),
    ("isLinkLocalUnicast", "bool", lambda address: address.is_link_local),
    ("isGlobalUnicast", "bool", _is_global_unicast),
)
_OF_CIDR: Final[_Functions] = (
    ("masked", "carrier", lambda network: {CIDR: str(network)}),
    ("prefixLength", "int", lambda network: network.prefixlen),
)
_OF_URL: Final[_Functions] = (
    ("getScheme", "string", lambda url: url.scheme),
    ("getHost", "string", lambda url: url.netloc.rpartition("@")[2]),
    ("getHostname", "string", lambda url: url.hostname or ""),
    ("getPort", "string", lambda url: str(url.port or "")),
    ("getEscapedPath", "string", lambda url: url.path),
    ("getQuery", "dyn", lambda url: parse_qs(url.query, True)),
)
