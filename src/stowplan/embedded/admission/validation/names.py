"""What names, keys and addresses may look like. Each rule returns what is wrong with a text, nothing if it will do."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from stowplan.model import label_syntax
from stowplan.model.remembering import remember

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LETTER_FIRST: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD: Final = rf"\*\.{_SUBDOMAIN}"
_IS_LABEL, _IS_SUBDOMAIN = re.compile(_LABEL), re.compile(_SUBDOMAIN)
_IS_LETTER_FIRST, _IS_WILDCARD = re.compile(_LETTER_FIRST), re.compile(_WILDCARD)
_IS_ENVIRONMENT: Final = re.compile(r"[ -<>-~]+")
_IS_CONFIG_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
#: Some thousands. One object may have more keys than that: remembered, they would hold the memory it was read into.
_KEPT_CHARACTERS: Final = 2**19
_LONGEST_LABEL: Final = 63
_LONGEST_SUBDOMAIN: Final = 253
_LONGEST_PORT_NAME: Final = 15
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_LETTER_FIRST_RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_LETTER_FIRST}')"
)
_WILDCARD_RULE: Final = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    f"regex used for validation is '{_WILDCARD}')"
)
_ENVIRONMENT_RULE: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_CONFIG_KEY_RULE: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)

_ADDRESS_RULE: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

Details = tuple[str, ...]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_LOCAL_MULTICAST: Final[dict[int, Network]] = {
    4: ipaddress.ip_network("224.0.0.0/24"),
    6: ipaddress.ip_network("ff02::/16"),
}


def subdomain(name: str) -> Details:
    """Most objects: letters, digits, dashes and dots."""
    return _problems(name, _LONGEST_SUBDOMAIN, _IS_SUBDOMAIN, _SUBDOMAIN_RULE)


def label(name: str) -> Details:
    """Names that become part of a host name: no dots."""
    rule = "must not contain dots" if _IS_SUBDOMAIN.fullmatch(name) else _LABEL_RULE
    return _problems(name, _LONGEST_LABEL, _IS_LABEL, rule)


def label_with_letter(name: str) -> Details:
    """Versions and other names that begin with a letter: no dots."""
    return _problems(name, _LONGEST_LABEL, _IS_LETTER_FIRST, _LETTER_FIRST_RULE)


def host(name: str) -> Details:
    """Hosts, of which the first part may be a star."""
    return _problems(name, _LONGEST_SUBDOMAIN, _IS_WILDCARD, _WILDCARD_RULE) if "*" in name else subdomain(name)


def path_segment(name: str) -> Details:
    """Roles and their bindings: whatever fits into a path."""
    if name in (".", ".."):
        return (f"may not be '{name}'",)
    return tuple(f"may not contain '{sign}'" for sign in "/%" if sign in name)


def prefix(text: str) -> str:
    """The beginning of a made-up name, in a form that its rule can be asked about."""
    return text[:-1] + "a" if text.endswith("-") else text


@remember(_KEPT_CHARACTERS)
def qualified(key: str) -> Details:
    """Label keys, taint keys, resource names: a name with an optional domain before it."""
    problems = label_syntax.key_problems(key)
    return tuple(problems.split("; ")) if problems else ()


def label_value(value: str) -> Details:
    """Values of labels, taints and tolerations."""
    problems = label_syntax.value_problems(value)
    return tuple(problems.split("; ")) if problems else ()


def port_name(name: str) -> Details:
    """Names of ports, IANA service names in truth."""
    problems = []
    if len(name) > _LONGEST_PORT_NAME:
        problems.append(_too_long(_LONGEST_PORT_NAME))
    if not re.fullmatch(r"[-a-z0-9]+", name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return tuple(problems)


def environment(name: str) -> Details:
    """Names of environment variables."""
    return () if _IS_ENVIRONMENT.fullmatch(name) else (_ENVIRONMENT_RULE,)


def config_key(name: str) -> Details:
    """Keys of config maps and secrets."""
    if len(name) > _LONGEST_SUBDOMAIN:
        return (_too_long(_LONGEST_SUBDOMAIN),)
    if not _IS_CONFIG_KEY.fullmatch(name):
        return (_CONFIG_KEY_RULE,)
    if name in (".", ".."):
        return (f"must not be '{name}'",)
    return ("must not start with '..'",) if name.startswith("..") else ()


def port_number(number: int) -> Details:
    return () if 1 <= number <= 65535 else ("must be between 1 and 65535, inclusive",)


def port(number_or_name: int | str) -> Details:
    """Ports that are named by their number or by their name."""
    return port_name(number_or_name) if isinstance(number_or_name, str) else port_number(number_or_name)


def address(text: str) -> Details:
    """Addresses of the network."""
    return (_ADDRESS_RULE,) if read_address(text) is None else ()


def address_range(text: str) -> Details:
    """Ranges of addresses."""
    return ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",) if read_range(text) is None else ()


def canonical_address(name: str) -> Details:
    """Objects that are named like an address."""
    found = read_address(name)
    if found is None:
        return (_ADDRESS_RULE,)
    return () if str(found) == name else (f'must be in canonical form ("{found}")',)


def endpoint_address(text: str) -> Details:
    """Addresses that others are to reach."""
    found = read_address(text)
    if found is None:
        return ("must be a valid IP address",)
    refused = (
        (found.is_unspecified, f"may not be unspecified ({text})"),
        (found.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (found.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (
            found in _LOCAL_MULTICAST[found.version],
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    )
    return tuple(detail for is_refused, detail in refused if is_refused)


def read_address(text: str) -> Address | None:
    """The address that a text is; None if it is none. One with a zone (`fe80::1%eth0`) is none."""
    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def read_range(text: str) -> Network | None:
    """The range of addresses that a text is; None if it is none."""
    try:
        return ipaddress.ip_network(text, strict=False) if "/" in text and "%" not in text else None
    except ValueError:
        return None


def _problems(name: str, longest: int, pattern: re.Pattern[str], rule: str) -> Details:
    too_long = (_too_long(longest),) if len(name) > longest else ()
    return too_long if pattern.fullmatch(name) else (*too_long, rule)


def _too_long(most: int) -> str:
    return f"must be no more than {most} characters"
