"""Checks addresses of the network, and ranges of them."""

from __future__ import annotations

import ipaddress
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import Problems

ADDRESS_RULE: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_RANGE_RULE: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def read_address(text: str) -> Address | None:
    """The address that a text is; None if it is none. One with a zone (`fe80::1%eth0`) is none."""
    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def address_name(name: str) -> names.Details:
    """What is wrong with the name of an object that is named like an address, in its canonical form."""
    address = read_address(name)
    if address is None:
        return (ADDRESS_RULE,)
    return () if str(address) == name else (f'must be in canonical form ("{address}")',)


def read_range(text: str) -> Network | None:
    """The range of addresses that a text is; None if it is none."""
    try:
        return ipaddress.ip_network(text, strict=False) if "/" in text and "%" not in text else None
    except ValueError:
        return None


def check_range(problems: Problems, text: str, path: str) -> Network | None:
    """Refuse a text that is no range of addresses; return the range otherwise."""
    found = read_range(text)
    if found is None:
        problems.invalid(path, text, _RANGE_RULE)
    return found


def check_endpoint(problems: Problems, text: str, path: str) -> None:
    """Refuse an address that nobody else can reach."""
    address = read_address(text)
    if address is None:
        problems.invalid(path, text, "must be a valid IP address")
        return
    if address.is_unspecified:
        problems.invalid(path, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        problems.invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        problems.invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if address in _LOCAL_MULTICAST[address.version]:
        detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        problems.invalid(path, text, detail)


_LOCAL_MULTICAST: Final[dict[int, Network]] = {
    4: ipaddress.ip_network("224.0.0.0/24"),
    6: ipaddress.ip_network("ff02::/16"),
}
