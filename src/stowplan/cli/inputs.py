"""What the subcommands are given: files of objects and configuration files, read into a cluster.

Every way in which they can be wrong ends in a `BadInputError` that says which file it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from stowplan.app.cluster import Cluster, Ties
from stowplan.app.configuration import read_configuration
from stowplan.cli.output import BadConfigError, BadInputError, counted, require_embedded, write_notes
from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import FeatureGates
from stowplan.config.load import Reading
from stowplan.config.types import Configuration
from stowplan.engine.ports import ExtenderSaid
from stowplan.framework import plugin_faults
from stowplan.framework.registry import RegistryError
from stowplan.model.node import Node
from stowplan.model.pod import Pod

if TYPE_CHECKING:
    from stowplan.local.outcome import Shortfall


@dataclass(slots=True)
class Inputs:
    """The objects of all files."""

    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    others: list[Any] = field(default_factory=list)
    #: What was left out, and why.
    notes: list[str] = field(default_factory=list)
    #: Workloads without pods that they want, because the API refused them.
    unmade: tuple[Shortfall, ...] = ()

    @property
    def pending(self) -> list[Pod]:
        """The pods to be scheduled, in the order of the files."""
        return [pod for pod in self.pods.values() if not pod.spec.node_name and not pod.is_terminal]

    @property
    def is_about_nothing(self) -> str:
        """Why there is nothing to schedule; "" if there is something."""
        if self.pending or self.unmade:
            return ""
        if not self.pods:
            return "no pod is in the files, nor a workload that makes some"
        return f"{counted(len(self.pods), 'pod')} in the files, none of them pending"

    def find(self, name: str) -> Pod:
        """Return a pod by NAMESPACE/NAME, or by its name alone if it is in namespace default."""
        key = name if "/" in name else f"default/{name}"
        if key not in self.pods:
            some = ", ".join(list(self.pods)[:10]) or "none"
            raise BadInputError(f"pod {key!r} is in none of the files; write NAMESPACE/NAME of one of: {some}")
        return self.pods[key]


def read_objects(paths: Sequence[str], gates: FeatureGates) -> Inputs:
    """Read the objects of all files as an API server would, and have workloads make their pods."""
    require_embedded("reading files as an API server would")
    # Loaded here: a configuration needs no API server.
    from stowplan.local import file_cluster
    from stowplan.local.manifests import ManifestError

    try:
        found = file_cluster.read(paths, gates)
    except ManifestError as error:
        raise BadInputError(str(error)) from None
    inputs = Inputs(notes=found.notes, unmade=found.unmade)
    for one in found.objects:
        match one:
            case Node():
                inputs.nodes[one.metadata.name] = one
            case Pod():
                inputs.pods[one.key] = one
            case _:
                inputs.others.append(one)
    return inputs


@dataclass(frozen=True, slots=True)
class GivenConfiguration:
    """How to schedule, and where that was written."""

    origin: str
    config: Configuration
    gates: FeatureGates
    #: What of it has no effect, or was converted.
    notes: tuple[str, ...] = ()


def read_settings(given: Mapping[str, Any]) -> GivenConfiguration:
    """Read the configuration that the options name, or the default one, under their feature gates."""
    path, text, gates = given.get("config_path"), given.get("config_text"), given["gates"]
    if path is not None and text is not None:
        raise click.UsageError("--config and --config-text exclude each other; give one of them")
    origin = path or ("the default configuration" if text is None else "--config-text")
    notes: list[str] = []
    reading = Reading(given.get("legacy_config", False), lambda note: notes.append(f"{origin}: {note}"))
    try:
        config = read_configuration(text if path is None else _read_text(path), gates, reading)
    except ConfigError as error:
        raise BadConfigError(f"{origin}: {error.stage}: {error}") from None
    except RegistryError as error:
        raise BadConfigError(f"{origin}: construct: {error}") from None
    return GivenConfiguration(origin, config, gates, tuple(notes))


def make_cluster(settings: GivenConfiguration, ties: Ties = "random", seed: int = 0) -> Cluster:
    """Build an empty cluster with the profiles of a configuration."""
    try:
        return Cluster(settings.config, ties=ties, seed=seed, feature_gates=settings.gates)
    except (ConfigError, RegistryError, ValueError, TypeError) as error:
        raise BadConfigError(f"{settings.origin}: construct: {error}") from None


def put_in(cluster: Cluster, inputs: Inputs) -> None:
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


def in_queue_order(cluster: Cluster, pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods in the order of the queue: as the profiles sort it, then as they come."""
    (sorter,) = next(iter(cluster.profiles.values())).queue_sort
    keyed = enumerate(pods)
    try:
        return [pod for _, pod in sorted(keyed, key=lambda each: sorter.sort_key(each[1], float(each[0])))]
    except plugin_faults.FAULTS as error:
        problem = f"plugin {sorter.name!r} failed in QueueSort: {plugin_faults.spelled(error)}"
        raise BadConfigError(f"{problem}; let it return keys of one sort, for every pod") from None


def _read_text(path: str) -> str:
    try:
        with click.open_file(path, encoding="utf-8") as file:
            text: str = file.read()
            return text
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path}: not a text file in UTF-8: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read: {error.strerror}; check the path") from None
