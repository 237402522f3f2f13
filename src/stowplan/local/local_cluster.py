"""The cluster of `stowplan up` in a program or a test: API, controllers, kubelets and scheduler, for one block.

    async with LocalCluster("app.yaml", nodes=3) as cluster:
        await cluster.apply("more.yaml")
        outcome = await cluster.settled()

    with LocalCluster.in_thread("app.yaml", nodes=3) as cluster:     # the same, without async
        cluster.apply("more.yaml")
        outcome = cluster.settled()

Clients reach it by `address`, or by the kubeconfig: kubectl, Helm, the official client. It listens on this machine
alone, on a free port, and is gone at the end of the block.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from stowplan.app.configuration import SourceError, as_gates
from stowplan.app.options import RunOptions
from stowplan.config.feature_gates import FeatureGateError, FeatureGates
from stowplan.local import initial_objects, run_once
from stowplan.local import manifests as manifest_files
from stowplan.local.activity import Activity
from stowplan.local.api_endpoint import ApiEndpoint
from stowplan.local.apply import Applier
from stowplan.local.cluster import UNSTARTABLE, ClusterOptions, EmbeddedCluster, why_unstartable
from stowplan.local.initial_objects import InitialObjects, LoadedObjects
from stowplan.local.manifests import Manifest
from stowplan.local.outcome import ClusterOutcome, key_of
from stowplan.local.up import UpOptions, open_cluster, published
from stowplan.model import manifests as manifest_text
from stowplan.model.json_values import MalformedObject
from stowplan.observe.logs import Logging, LogSettings

T = TypeVar("T")
#: A file or a folder; YAML (a text with line breaks); or an object.
ManifestLike = str | Path | Mapping[str, Any]
_LOOK_AGAIN_SECONDS: Final = 0.02
_TIMEOUT_SECONDS: Final = 60.0
_GIVEN: Final = "given"
_NOT_UP: Final = "the cluster is not up; use it within the block that begins with LocalCluster"
#: Names and ties are drawn from it, so that a test finds the same each time.
_SEED: Final = 0


class LocalClusterError(Exception):
    """A cluster that cannot be started, or manifests that it refuses; the text says what to do."""


class LocalCluster:
    """A cluster in this process, from `async with` to the end of the block.

    `manifests` are applied at the start: files, folders, YAML texts or objects. `nodes` is how many there are, 100
    unless others are given; `copied_from` a snapshot, a dump or a kubeconfig to begin as a copy of; `config` the file
    of a KubeSchedulerConfiguration.
    """

    #: Where the API is, such as http://127.0.0.1:40123.
    address: str
    #: The file that leads kubectl and other clients there.
    kubeconfig: Path

    def __init__(
        self,
        *manifests: ManifestLike,
        nodes: int | None = None,
        copied_from: str | Path = "",
        config: str | Path = "",
        feature_gates: FeatureGates | Mapping[str, bool] | str | None = None,
    ) -> None:
        self._manifests = manifests
        _check_options(nodes, config)
        try:
            gates = as_gates(feature_gates, None)
        except FeatureGateError as error:
            raise LocalClusterError(f"feature_gates: {error}") from None
        flags = RunOptions(str(config), feature_gates=gates)
        self._options = ClusterOptions(ApiEndpoint(port=0), "", flags, Logging(LogSettings()), _SEED)
        self._contents = InitialObjects(nodes, "", str(copied_from))
        self._closing = AsyncExitStack()
        self._cluster: EmbeddedCluster | None = None
        self._placed_before: dict[str, dict[str, Any]] = {}
        #: What was left out, or is good to know.
        self.notes: list[str] = []

    async def __aenter__(self) -> LocalCluster:
        if self._cluster is not None:
            raise LocalClusterError("the cluster is up already; make another LocalCluster for another block")
        try:
            await self._open()
        except UNSTARTABLE as error:
            await self._closing.aclose()
            raise LocalClusterError(why_unstartable(error, self._options.flags.config)) from None
        except BaseException:
            await self._closing.aclose()
            raise
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._cluster = None
        await self._closing.aclose()

    async def _open(self) -> None:
        folder = self._closing.enter_context(tempfile.TemporaryDirectory())
        found = self._read(self._manifests)
        if self._contents.nodes is None and any(one.kind == "Node" for one in found):
            self._contents = replace(self._contents, nodes=0)
        options = UpOptions(self._options, self._contents, Path(folder) / "kubeconfig")
        cluster = await open_cluster(options, _Notes(self.notes))
        self._closing.push_async_callback(cluster.close)
        self._closing.enter_context(published(options, cluster))
        self._cluster, self.address, self.kubeconfig = cluster, cluster.access.server, Path(folder) / "kubeconfig"
        pods = cluster.api.list(cluster.pods)
        self._placed_before = {key_of(pod): pod for pod in pods if pod["spec"].get("nodeName")}
        await self._apply(found)
        await cluster.schedule()

    async def apply(self, *manifests: ManifestLike) -> None:
        """Create objects, or change them, as `kubectl apply` would: files, folders, YAML texts or objects."""
        await self._apply(self._read(manifests))

    def _read(self, manifests: Iterable[ManifestLike]) -> list[Manifest]:
        try:
            return manifest_files.in_order(one for given in manifests for one in _read(given))
        except SourceError as error:
            raise LocalClusterError(str(error)) from None

    async def _apply(self, found: Sequence[Manifest]) -> None:
        cluster = self._open_cluster
        view = _Notes(self.notes)
        applier = Applier(cluster.api)
        try:
            initial_objects.define(applier, found, view)
            for one in found:
                applier.ensure_namespace(one)
            await initial_objects.put_new(applier, LoadedObjects(manifests=found), view, cluster.components.quiet)
        except SourceError as error:
            raise LocalClusterError(str(error)) from None

    async def settled(self, timeout_seconds: float = _TIMEOUT_SECONDS) -> ClusterOutcome:
        """Wait until every pod is placed or refused, and there is nothing more to do; return what became of them.

        Raise TimeoutError, with the pods that are not decided on, if that takes too long.
        """
        cluster = self._open_cluster
        try:
            async with asyncio.timeout(timeout_seconds):
                while not run_once.is_settled(cluster):
                    if cluster.broken.done():
                        cluster.broken.result()
                    await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        except TimeoutError:
            why = run_once.why_unsettled(cluster)
            raise TimeoutError(f"the cluster is not settled after {timeout_seconds:g} s: {why}") from None
        return run_once.outcome_now(cluster, self._placed_before)

    def placements(self) -> dict[str, str | None]:
        """Return the node of every pod, by NAMESPACE/NAME; None if it has none."""
        cluster = self._open_cluster
        return {key_of(pod): pod["spec"].get("nodeName") or None for pod in cluster.api.list(cluster.pods)}

    @property
    def _open_cluster(self) -> EmbeddedCluster:
        if self._cluster is None:
            raise LocalClusterError(_NOT_UP)
        return self._cluster

    @classmethod
    @contextmanager
    def in_thread(cls, *manifests: ManifestLike, **options: Any) -> Iterator[ClusterInThread]:
        """Have the same without `async`: it runs in a thread of its own while the block does."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="stowplan-local-cluster", daemon=True)
        thread.start()
        try:
            found = ClusterInThread(cls(*manifests, **options), loop)
            found.run(found.cluster.__aenter__)
            try:
                yield found
            finally:
                found.run(found.cluster.__aexit__)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


class ClusterInThread:
    """A `LocalCluster` for programs without an event loop of their own."""

    def __init__(self, cluster: LocalCluster, loop: asyncio.AbstractEventLoop) -> None:
        self.cluster, self._loop = cluster, loop

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Have something done where the cluster runs, and wait for it."""
        if self._loop.is_closed():
            raise LocalClusterError(_NOT_UP)
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result()

    @property
    def address(self) -> str:
        return self.cluster.address

    @property
    def kubeconfig(self) -> Path:
        return self.cluster.kubeconfig

    @property
    def notes(self) -> list[str]:
        return self.cluster.notes

    def apply(self, *manifests: ManifestLike) -> None:
        """See `LocalCluster.apply`."""
        self.run(lambda: self.cluster.apply(*manifests))

    def settled(self, timeout_seconds: float = _TIMEOUT_SECONDS) -> ClusterOutcome:
        """See `LocalCluster.settled`."""
        return self.run(lambda: self.cluster.settled(timeout_seconds))

    def placements(self) -> dict[str, str | None]:
        """See `LocalCluster.placements`."""

        async def look() -> dict[str, str | None]:
            return self.cluster.placements()

        return self.run(look)


def _check_options(nodes: object, config: object) -> None:
    if nodes is not None and (not isinstance(nodes, int) or nodes < 0):
        raise LocalClusterError(f"nodes: Invalid value: {nodes!r}: write how many there are, 0 or more")
    if not isinstance(config, str | Path):
        kind = type(config).__name__
        raise LocalClusterError(f"config: expected the path of a file, got {kind}; write it to one")


def _read(given: ManifestLike) -> Iterable[Manifest]:
    if isinstance(given, Mapping):
        return [Manifest(_GIVEN, manifest_files.checked(_GIVEN, given))]
    if isinstance(given, str) and "\n" in given:
        try:
            return [Manifest(_GIVEN, manifest_files.checked(_GIVEN, one)) for one in manifest_text.read(given)]
        except MalformedObject as error:
            raise LocalClusterError(f"the text: {error}") from None
    if not isinstance(given, str | Path):
        raise LocalClusterError(f"expected a file, a folder, a YAML text or an object, got {type(given).__name__}")
    return manifest_files.read([str(given)])


class _Notes:
    """Hears what is to be told of the start, and shows nothing."""

    every_seconds = 1.0

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes

    def note(self, text: str) -> None:
        self._notes.append(text)

    @contextmanager
    def stage(self, title: str, total: int) -> Iterator[Callable[[], None]]:
        yield lambda: None

    def opened(self, cluster: EmbeddedCluster, kubeconfig: Path | None) -> None:
        pass

    def show(self, activity: Activity) -> None:
        pass

    def close(self) -> None:
        pass


__all__: Sequence[str] = ("ClusterInThread", "LocalCluster", "LocalClusterError", "ManifestLike")
