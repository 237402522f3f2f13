"""What the subcommands are given: files of objects and configuration files, read into a cluster.

Every way in which they can be wrong ends in a `BadInputError` that says which file it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from stowplan.app.cluster import Cluster
from stowplan.app.configuration import SourceError, read_configuration, read_text
from stowplan.cli.output import BadConfigError, BadInputError, require_embedded, write_notes
from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import FeatureGates
from stowplan.config.load import Reading
from stowplan.engine.ports import ExtenderSaid
from stowplan.framework.registry import RegistryError
from stowplan.model.pod import Pod

if TYPE_CHECKING:
    from stowplan.local.file_cluster import FileCluster


def read_objects(paths: Sequence[str], gates: FeatureGates) -> FileCluster:
    """Read the objects of all files as an API server would, and have workloads make their pods."""
    require_embedded("reading files as an API server would")
    # Loaded here: a configuration needs no API server.
    from stowplan.local import file_cluster

    try:
        return file_cluster.read(paths, gates)
    except SourceError as error:
        raise BadInputError(str(error)) from None


def find_pod(inputs: FileCluster, name: str) -> Pod:
    """Return a pod by NAMESPACE/NAME, or by its name alone if it is in namespace default."""
    key = name if "/" in name else f"default/{name}"
    if key not in inputs.pods:
        some = ", ".join(list(inputs.pods)[:10]) or "none"
        raise BadInputError(f"pod {key!r} is in none of the files; write NAMESPACE/NAME of one of: {some}")
    return inputs.pods[key]


def make_cluster(given: Mapping[str, Any]) -> tuple[Cluster, list[str]]:
    """Build an empty cluster with the configuration that the options name, or the default one.

    Return it with what of the configuration has no effect, or was converted.
    """
    path, text, gates = given.get("config_path"), given.get("config_text"), given["gates"]
    if path is not None and text is not None:
        raise click.UsageError("--config and --config-text exclude each other; give one of them")
    origin = path or ("the default configuration" if text is None else "--config-text")
    notes: list[str] = []
    reading = Reading(given.get("legacy_config", False), lambda note: notes.append(f"{origin}: {note}"))
    try:
        config = read_configuration(text if path is None else read_text(path), gates, reading)
        draws = {name: given[name] for name in ("ties", "seed") if name in given}
        return Cluster(config, feature_gates=gates, **draws), notes
    except SourceError as error:
        raise BadInputError(str(error)) from None
    except ConfigError as error:
        raise BadConfigError(f"{origin}: {error.stage}: {error}") from None
    except (RegistryError, ValueError, TypeError) as error:
        raise BadConfigError(f"{origin}: construct: {error}") from None


def put_in(cluster: Cluster, inputs: FileCluster) -> None:
    """Put what the files describe into a cluster, its pending pods not yet placed."""
    cluster.heard = _noting_ignored()
    cluster.add_all(inputs.others)
    cluster.add_all(inputs.nodes.values())
    cluster.add_all(inputs.pods.values())
    for pod in inputs.pods.values():
        if pod.spec.node_name and pod.spec.node_name not in inputs.nodes:
            inputs.notes.append(f"pod {pod.key!r} runs on node {pod.spec.node_name!r}, which is in none of the files")


def _noting_ignored() -> Callable[[ExtenderSaid], None]:
    """Have extenders noted, each failure once, that fail and are done without; other failures are in the result."""
    noted: set[str] = set()

    def note(said: ExtenderSaid) -> None:
        text = f"extender {said.extender} ignored in {said.verb}: {said.text}"
        if said.is_ignored and text not in noted:
            noted.add(text)
            write_notes((f"pod {said.pod.key!r}, and others perhaps: {text}",))

    return note
