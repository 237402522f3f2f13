"""Web pages of others stay outside: a request calls this server by a name of its own, and no other site sends it.

A browser sends requests for whatever page is open in it, from a machine that is let in, but three headers are such that
no page can choose. `Host` is the name in the address, which a page whose name was rebound to this machine shares;
`Origin` and `Sec-Fetch-Site` say which page asks. Programs send only the first. `server` asks before anything else.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from stowplan.embedded.objects.errors import StatusError

#: What is looked at, in small letters as `requests` has them; values of one that is there twice are joined by commas.
HEADERS: Final = ("host", "origin", "sec-fetch-site")

#: A page of this server, and somebody who typed the address. "same-site" is another port of this machine.
_OWN_SITES: Final = frozenset(("same-origin", "none"))
_HOST: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{0,5})?")
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_LONGEST_NAME: Final = 253
_LONGEST_SHOWN: Final = 100
#: How many ways of calling this server are remembered: clients differ in little but the port.
_MOST_REMEMBERED: Final = 64
_PORTS: Final = {"http": 80, "https": 443}

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class OwnOrigin:
    """What one server is called.

    On loopback that is `localhost` and every address of loopback; elsewhere the name it listens on and every address,
    because nobody can have an address rebound. `names` are good besides; "*.example.com" stands for one label more.
    The port may be any: tunnels and port-forwards change it.
    """

    def __init__(self, scheme: str, host: str, names: Iterable[str] = ()) -> None:
        self._scheme = scheme
        self._names = frozenset(("localhost", *(canonical(name) or "" for name in (host, *names)))) - {""}
        self._wildcards = frozenset(name[1:].lower() for name in names if name.startswith("*."))
        self._has_any_address = not is_loopback(host)
        self._known: set[str] = set()

    def check(self, headers: Mapping[str, str]) -> None:
        """Raise StatusError 403 for what a page of somebody else sends, or may have sent."""
        host = headers.get("host", "")
        if host not in self._known:
            self._check_host(host)
        if "origin" in headers:
            self._check_origin(headers["origin"], host)
        if "sec-fetch-site" in headers and headers["sec-fetch-site"].lower() not in _OWN_SITES:
            remedy = "type its address instead of following a link, or use a program that is no browser"
            why = "pages of other sites may not use this server"
            raise _refused("Sec-Fetch-Site", headers["sec-fetch-site"], why, remedy)

    def _check_host(self, host: str) -> None:
        if not self._is_own(host):
            remedy = "call it by its address or localhost, or start it with --allow-host and the name it is called by"
            raise _refused("Host", host, "that is not a name of this server", remedy)
        if len(self._known) < _MOST_REMEMBERED:
            self._known.add(host)

    def _is_own(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        name = canonical(found["six"] or found["name"]) if found else None
        if name is None:
            return False
        if name in self._names or name[name.find(".") :] in self._wildcards:
            return True
        address = _address(name)
        return address is not None and (address.is_loopback or self._has_any_address)

    def _check_origin(self, origin: str, host: str) -> None:
        asked, own = _origin(origin), _origin(f"{self._scheme}://{host}")
        if asked is None or asked != own:
            remedy = "a program that is no browser leaves the header out"
            raise _refused("Origin", origin, "pages of other origins may not use this server", remedy)


def canonical(name: str) -> str | None:
    """Return a name or an address in the one way it is compared; None if it is neither."""
    if (address := _address(name)) is not None:
        return str(address)
    plain = name.lower().removesuffix(".")
    return plain if len(plain) <= _LONGEST_NAME and _NAME.fullmatch(plain) else None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens there."""
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _address(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _origin(text: str) -> tuple[str, str, int] | None:
    """Return scheme, name and port of a serialized origin; None if there is more to it, or less."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    name = canonical(parts.hostname or "")
    if name is None or "@" in parts.netloc or text.partition("://")[2] != parts.netloc:
        return None
    return parts.scheme, name, _PORTS.get(parts.scheme, 0) if port is None else port


def _refused(header: str, value: str, why: str, remedy: str) -> StatusError:
    shown = value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}..."
    return StatusError(403, "Forbidden", f'forbidden: the header {header} is "{shown}": {why}; {remedy}')
