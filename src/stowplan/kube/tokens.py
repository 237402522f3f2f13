"""How a request says who is asking: nothing, a fixed token, or a token file that is rotated under our feet.

A plugin that is run for its token is in `kubeconfig.py`, where the library that runs it is.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from stowplan.kube.tls import CredentialsError

_READ_AGAIN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same every time; "" for a client that shows a certificate, or nothing."""

    value: str

    async def header(self) -> str:
        return self.value

    async def renew(self) -> None:
        return


class TokenFile:
    """A bearer token in a file, read again every minute: the kubelet replaces a pod's token long before it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._value = f"Bearer {self._read()}"
        self._read_at: float | None = None

    async def header(self) -> str:
        now = asyncio.get_running_loop().time()
        if self._read_at is None or now - self._read_at >= _READ_AGAIN_SECONDS:
            self._read_at = now
            await self.renew()
        return self._value

    async def renew(self) -> None:
        # A file that is being replaced may be missing for a moment: the old token is still good then.
        try:
            self._value = f"Bearer {self._read()}"
        except CredentialsError:
            return

    def _read(self) -> str:
        try:
            token = self._path.read_text(encoding="ascii").strip()
        except (OSError, ValueError) as fault:
            raise CredentialsError(f"token file {self._path}: {fault}; mount a service account token there") from None
        if not token:
            raise CredentialsError(f"token file {self._path} is empty; mount a service account token there")
        return token
