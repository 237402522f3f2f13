"""Where the text of the configuration comes from: a file, a ConfigMap, or the command line itself.

A source gives the text and says when it may have changed; what the text means is up to `app/configuration.py` at start
and to `app/reload.py` later on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from stowplan.app.clients import open_client
from stowplan.app.options import OptionError, RunOptions
from stowplan.config.types import ClientConnection
from stowplan.kube.client import ApiRequest
from stowplan.kube.errors import RequestError
from stowplan.observe.component_metrics import RequestMetrics

CONFIG_KEY: Final = "config.yaml"
POLL_SECONDS: Final = 5.0


class SourceError(Exception):
    """The text could not be had; the message names the source and what to do."""


class ConfigurationSource(Protocol):
    """Somewhere a configuration is written down."""

    @property
    def name(self) -> str:
        """What messages call it."""

    async def read(self) -> str:
        """Return the text as it is now; raise SourceError if there is none."""

    async def changed(self) -> None:
        """Return once the text may be another than the one read last; never, if it cannot change."""


class FileSource:
    """A file, looked at every few seconds: a ConfigMap mounted as a volume changes by having its link replaced."""

    def __init__(self, path: str | Path, poll_seconds: float = POLL_SECONDS) -> None:
        self._path = Path(path)
        self._poll_seconds = poll_seconds
        #: What was read last; None if nothing could be.
        self._seen: str | None = None

    @property
    def name(self) -> str:
        return str(self._path)

    async def read(self) -> str:
        self._seen = None
        try:
            self._seen = await asyncio.to_thread(self._path.read_text, encoding="utf-8")
        except UnicodeDecodeError as error:
            raise SourceError(f"{self.name}: not a text file in UTF-8: {error.reason} at byte {error.start}") from None
        except OSError as error:
            raise SourceError(f"{self.name}: cannot be read: {error.strerror}; check the path") from None
        return self._seen

    async def changed(self) -> None:
        # Comparing the text, not its time: times are coarse, and links are replaced by links to older files. Two looks
        # must agree, for a file may be half written at the first.
        last = self._seen
        while True:
            await asyncio.sleep(self._poll_seconds)
            found = await asyncio.to_thread(self._look)
            if found == last != self._seen:
                return
            last = found

    def _look(self) -> str | None:
        try:
            return self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None


class ConfigMapSource:
    """A ConfigMap with the configuration under `config.yaml`, fetched when it is read, and again every few seconds."""

    def __init__(self, fetch: Callable[[], Awaitable[Mapping[str, Any]]], poll_seconds: float = POLL_SECONDS) -> None:
        self._fetch = fetch
        self._poll_seconds = poll_seconds
        #: The object that was read last; None if nothing could be.
        self._seen: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        if self._seen is None:
            return "ConfigMap"
        metadata = self._seen.get("metadata") or {}
        return f"ConfigMap {metadata.get('namespace', 'default')}/{metadata.get('name', '')}"

    async def read(self) -> str:
        self._seen = await self._fetch()
        data = self._seen.get("data") or {}
        if CONFIG_KEY not in data:
            keys = ", ".join(sorted(data)) or "none"
            problem = f"data.{CONFIG_KEY}: Required value; put the configuration there (keys: {keys})"
            raise SourceError(f"{self.name}: {problem}")
        text: str = data[CONFIG_KEY]
        return text

    async def changed(self) -> None:
        while True:
            await asyncio.sleep(self._poll_seconds)
            try:
                found = await self._fetch()
            except SourceError:
                # Out of reach for now: what is in force stays.
                continue
            if self._seen is None or found.get("data") != self._seen.get("data"):
                return


class InlineSource:
    """A text given on the command line; it cannot change."""

    name = "--config-text"

    def __init__(self, text: str) -> None:
        self._text = text

    async def read(self) -> str:
        return self._text

    async def changed(self) -> None:
        await asyncio.Event().wait()


async def find_source(options: RunOptions, requests: RequestMetrics) -> ConfigurationSource | None:
    """Return where the configuration is written down; None if nowhere."""
    named = [name for name in ("config", "config-map", "config-text") if name in options.given]
    if len(named) > 1:
        raise OptionError(f"--{' and --'.join(named)} each give a configuration; give one of them")
    if options.config:
        return FileSource(options.config)
    if options.config_text:
        return InlineSource(options.config_text)
    if options.config_map:
        return ConfigMapSource(partial(_get_config_map, options, requests))
    return None


async def _get_config_map(options: RunOptions, requests: RequestMetrics) -> dict[str, Any]:
    namespace, slash, name = options.config_map.partition("/")
    if not (namespace and slash and name):
        raise OptionError(f"--config-map {options.config_map!r}: write NAMESPACE/NAME")
    client = await open_client(ClientConnection(options.kubeconfig), options.master, "", requests)
    try:
        answer = await client.send(ApiRequest("GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}"))
    except RequestError as error:
        raise SourceError(f"--config-map {options.config_map}: cannot be read: {error.describe()}") from error
    finally:
        await client.close()
    return msgspec.json.decode(answer, type=dict[str, Any])
