"""The functions that rules may use beyond CEL's own: addresses and URLs as Kubernetes adds them, and patterns.

What all patterns of one evaluation weigh together is bounded by `PatternMeter`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from stowplan.cel import patterns
from stowplan.cel.functions import COST_EXCEEDED, Function
from stowplan.cel.values import Carrier, NoOverloadError

IP: Final = "net.IP"
CIDR: Final = "net.CIDR"
URL: Final = "kubernetes.URL"
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MOST_WEIGHT: Final = 100_000
#: Finding goes on where the last one ended, and most are near.
_SEARCHES: Final = 25


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
        raise ValueError(f'IP Address "{text}" parse error during conversion from string: {error}') from error
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return found


def _parse_cidr(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
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


class PatternMeter:
    """Counts the weight of the patterns that rules use; reset it before each evaluation."""

    def __init__(self, most_weight: int = _MOST_WEIGHT) -> None:
        self._most_weight = most_weight
        self._left = most_weight

    @property
    def is_exceeded(self) -> bool:
        return self._left < 0

    @property
    def spent(self) -> int:
        return self._most_weight - self._left

    def reset(self) -> None:
        self._left = self._most_weight

    def functions(self) -> list[Function]:
        """Return the functions, which are counted here."""
        return [
            Function("Matches", False, ("string", "string"), "bool", self._matches),
            Function("Matches", True, ("string", "string"), "bool", self._matches),
            Function("find", True, ("string", "string"), "string", self._find),
            Function("findAll", True, ("string", "string"), "strings", self._find_all),
            Function("findAll", True, ("string", "string", "int"), "strings", self._find_all),
        ]

    def _spend(self, pattern: str, text: str) -> None:
        # Finding takes time with the text as well.
        self._left -= patterns.cost(pattern[:10_000], text) + len(text) // 100
        if self._left < 0:
            raise ValueError(COST_EXCEEDED)

    def _matches(self, text: str, pattern: str) -> bool:
        self._spend(pattern, text)
        patterns.check(pattern)
        return patterns.matches(pattern, text)

    def _find(self, text: str, pattern: str) -> str:
        return next(iter(self._find_all(text, pattern, 1)), "")

    def _find_all(self, text: str, pattern: str, most: int = -1) -> list[str]:
        self._spend(pattern, text)
        patterns.check(pattern)
        try:
            found = patterns.find_all(pattern, text, most)
        except ValueError:
            self._left = -1
            raise
        self._left -= len(found) * patterns.cost(pattern, text) // _SEARCHES
        return found
