"""Where `stowplan run` gets its configuration from, and what the flags make of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from stowplan.app.clients import open_client
from stowplan.app.configuration_source import (
    ConfigurationSource,
    FetchedConfigMap,
    FileSource,
    InlineSource,
    SourceError,
)
from stowplan.app.effective import OptionError, effective
from stowplan.app.options import Options
from stowplan.app.settings import read_configuration
from stowplan.config.external import to_yaml
from stowplan.config.load import Reading
from stowplan.config.types import ClientConnection, Configuration
from stowplan.config.validate import validate
from stowplan.kube.client import ApiRequest
from stowplan.kube.errors import RequestError
from stowplan.observe.component_metrics import RequestMetrics
from stowplan.observe.logs import log_for

_log = log_for(__name__)


async def find_source(options: Options, requests: RequestMetrics) -> ConfigurationSource | None:
    """Return where the configuration is written down; None if nowhere."""
    named = [name for name in ("config", "config-map", "config-text") if name in options.given]
    if len(named) > 1:
        raise OptionError(f"--{' and --'.join(named)} each give a configuration; give one of them")
    if options.config:
        return FileSource(options.config)
    if options.config_text:
        return InlineSource(options.config_text)
    if options.config_map:
        return FetchedConfigMap(partial(_get_config_map, options, requests))
    return None


async def configure(options: Options, source: ConfigurationSource | None) -> Configuration:
    """Return the configuration in force at start; raise ConfigError, RegistryError or SourceError if there is none."""
    gates = options.feature_gates
    written = read_configuration(None if source is None else await source.read(), gates, reading(options))
    found = effective(options, written)
    # The flags may have made it wrong.
    validate(found, gates)
    return found


def reading(options: Options) -> Reading:
    """Return how a configuration is read: what has no effect goes to the log."""
    return Reading(options.legacy_config, _log.warning)


def write_configuration(configuration: Configuration, path: str) -> None:
    """Write a configuration for --write-config-to."""
    try:
        Path(path).write_text(to_yaml(configuration), encoding="utf-8")
    except OSError as error:
        raise OptionError(f"--write-config-to {path}: cannot be written: {error.strerror}") from error


async def _get_config_map(options: Options, requests: RequestMetrics) -> dict[str, Any]:
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
