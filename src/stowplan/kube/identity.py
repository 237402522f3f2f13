"""What a client needs to know before it may speak to a server: the address, whom to trust, how to say who is asking.

`credentials.py` finds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from stowplan.kube.tls import Trust


class Authorization(Protocol):
    """Where the Authorization header comes from."""

    async def header(self) -> str:
        """Return the header's value, "" for none."""

    async def renew(self) -> None:
        """The server did not accept the last one: get another, if there is a way to."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The server's address, how to trust it, and how to say who is asking."""

    server: str
    authorization: Authorization
    #: None for a server that is spoken to without TLS.
    trust: Trust | None = None
    #: The name its certificate must be for; "" for the one in the address.
    server_name: str = ""
    proxy: str = ""
    #: Whom to act as: headers.
    impersonation: tuple[tuple[str, str], ...] = ()
