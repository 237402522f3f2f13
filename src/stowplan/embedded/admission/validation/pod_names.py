"""Rules of the names by which a pod knows others and is known: DNS, aliases of hosts, its own name, its readiness."""

from __future__ import annotations

import re
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import Field

_MOST_SERVERS: Final = 3
_MOST_DOMAINS: Final = 32
_MOST_CHARACTERS: Final = 2048
_LONGEST_DOMAIN: Final = 253
_LONGEST_HOST_NAME: Final = 64
_PART: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_DOMAIN: Final = rf"{_PART}(\.{_PART})*"
_IS_DOMAIN: Final = re.compile(_DOMAIN)
_DOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    f"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_DOMAIN}')"
)


def check_aliases(aliases: Field) -> None:
    """Check the hosts that a pod knows by other names."""
    for alias in aliases:
        alias["ip"].check(names.address)
        alias["hostnames"].check_each(names.subdomain)


def check_gates(gates: Field) -> None:
    """Check by which conditions a pod is ready."""
    for gate in gates:
        gate["conditionType"].check(names.qualified)


def check_dns(config: Field, *, is_all: bool) -> None:
    """Check a configuration; it may be all that there is."""
    servers, domains = config["nameservers"], config["searches"]
    if is_all and config.value is None:
        config.required("must provide `dnsConfig` when `dnsPolicy` is None")
    elif is_all and not servers:
        servers.required("must provide at least one DNS nameserver when `dnsPolicy` is None")
    if len(servers.value or ()) > _MOST_SERVERS:
        servers.invalid(f"must not have more than {_MOST_SERVERS} nameservers")
    servers.check_each(names.address)
    if len(domains.value or ()) > _MOST_DOMAINS:
        domains.invalid(f"must not have more than {_MOST_DOMAINS} search paths")
    if len(" ".join(domains.value or ())) > _MOST_CHARACTERS:
        domains.invalid(f"must not have more than {_MOST_CHARACTERS} characters (including spaces) in the search list")
    domains.check_each(_domain)
    for option in config["options"]:
        if not option.get("name"):
            option.required("must not be empty")


def check_host_name(spec: Field) -> None:
    """Check a name that a pod has been given in place of its own."""
    name = spec["hostnameOverride"]
    if spec.get("hostNetwork"):
        name.forbidden("may not be specified when hostNetwork is true")
    if spec.get("setHostnameAsFQDN"):
        name.forbidden("may not be specified when setHostnameAsFQDN is true")
    name.check(names.subdomain)
    if len(name.value) > _LONGEST_HOST_NAME:
        name.too_long(_LONGEST_HOST_NAME)


def _domain(text: str) -> tuple[str, ...]:
    """A domain to search, which may end with a dot, or be nothing but that."""
    name = text.removesuffix(".")
    if text == ".":
        return ()
    problems = () if _IS_DOMAIN.fullmatch(name) else (_DOMAIN_RULE,)
    return (
        *((f"must be no more than {_LONGEST_DOMAIN} characters",) if len(name) > _LONGEST_DOMAIN else ()),
        *problems,
    )
