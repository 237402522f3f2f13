"""Manifests for a cluster: from files, whole folders or the standard input, or a copy of another cluster.

They come in the order in which a cluster can take them: what others need first (custom resources, namespaces, classes);
within one rank the order of the files counts. A copy is read from a dump in YAML, or from a live cluster that a
kubeconfig leads to: what decides where pods go and what makes pods. `local/apply.py` puts manifests into a cluster.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stowplan.app.clients import USER_AGENT
from stowplan.app.configuration import STDIN, SourceError, read_text
from stowplan.app.process import now
from stowplan.kube import credentials
from stowplan.kube.client import ApiRequest, Client, ClientSettings
from stowplan.kube.credentials import CredentialsError
from stowplan.kube.errors import FORBIDDEN, ApiError, RequestError
from stowplan.model import json_values
from stowplan.model import manifests as manifest_text
from stowplan.model.json_values import MalformedObject

_SUFFIXES: Final = (".yaml", ".yml", ".json")
#: Kinds that have to be there before others, in this order; all others come after them.
_FIRST: Final = (
    "CustomResourceDefinition",
    "Namespace",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "DeviceClass",
    "ServiceAccount",
    "LimitRange",
    "ResourceQuota",
    "Node",
)
#: What stays where it is when a cluster is copied.
_NOT_COPIED: Final = ("Secret", "ConfigMap", "Lease", "Event")
_PAGE: Final = 500
_SILENCE_SECONDS: Final = 60.0
#: Collections by their API, in the order in which they are copied.
_COPIED: Final = (
    ("v1", "namespaces"),
    ("scheduling.k8s.io/v1", "priorityclasses"),
    ("node.k8s.io/v1", "runtimeclasses"),
    ("storage.k8s.io/v1", "storageclasses", "csidrivers"),
    ("resource.k8s.io/v1", "deviceclasses"),
    ("v1", "nodes"),
    ("storage.k8s.io/v1", "csinodes", "csistoragecapacities"),
    ("resource.k8s.io/v1", "resourceslices"),
    ("storage.k8s.io/v1", "volumeattachments"),
    ("v1", "persistentvolumes", "persistentvolumeclaims"),
    ("resource.k8s.io/v1", "resourceclaims", "resourceclaimtemplates"),
    ("v1", "serviceaccounts", "limitranges", "resourcequotas", "services", "replicationcontrollers"),
    ("apps/v1", "deployments", "replicasets", "controllerrevisions", "statefulsets", "daemonsets"),
    ("batch/v1", "cronjobs", "jobs"),
    ("policy/v1", "poddisruptionbudgets"),
    ("v1", "pods"),
)
#: What scheduling reads of clusters that have it: groups of pods, rules that taint devices.
_PERHAPS: Final = (
    ("scheduling.k8s.io/v1beta1", "podgroups"),
    ("scheduling.k8s.io/v1alpha2", "podgroups"),
    ("scheduling.k8s.io/v1alpha3", "compositepodgroups"),
    ("scheduling.x-k8s.io/v1alpha1", "podgroups"),
    ("resource.k8s.io/v1", "devicetaintrules"),
    ("resource.k8s.io/v1beta2", "devicetaintrules"),
)


class ManifestError(SourceError):
    """Manifests that can be read, and cannot be used; the text names the file, the object and what to do."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object, and where it was written."""

    origin: str
    content: Mapping[str, Any]

    @property
    def kind(self) -> str:
        return str(self.content["kind"])

    @property
    def is_definition(self) -> bool:
        """Whether it defines a kind, without which objects of that kind mean nothing."""
        return self.kind == "CustomResourceDefinition"

    @property
    def is_needed_by_others(self) -> bool:
        """Whether other objects may need it to be there."""
        return self.kind in _FIRST

    @property
    def title(self) -> str:
        """What messages call it: `examples/a.yaml: Pod shop/web`."""
        metadata = self.content.get("metadata") or {}
        name = metadata.get("name") or metadata.get("generateName", "")
        namespace = metadata.get("namespace")
        return f"{self.origin}: {self.kind} {f'{namespace}/{name}' if namespace else name}"


def read(paths: Iterable[str]) -> list[Manifest]:
    """Read all objects, those first that others need. Raise SourceError if something cannot be read."""
    return in_order(manifest for path in paths for manifest in _read(path))


def in_order(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Return the manifests with those first that others need."""
    return sorted(manifests, key=lambda manifest: _rank(manifest.kind))


def _read(path: str) -> list[Manifest]:
    found = [manifest for file in _files(path) for manifest in _objects(file)]
    if not found:
        # Most likely a template that came out empty: nobody names a file for nothing.
        raise ManifestError(f"{path}: no object is written there; name a file that has some")
    return found


def _rank(kind: str) -> int:
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _files(path: str) -> list[str]:
    """Return a file itself, or the manifests of a folder and its folders, by name."""
    folder = Path(path)
    if path == STDIN or not folder.is_dir():
        return [path]
    found = sorted(str(file) for file in folder.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    if not found:
        raise ManifestError(f"{path}: no file there ends in {', '.join(_SUFFIXES)}; name a file")
    return found


def _objects(path: str) -> Iterator[Manifest]:
    try:
        for content in manifest_text.read(read_text(path)):
            yield Manifest(path, checked(path, content))
    except MalformedObject as error:
        raise ManifestError(f"{path}: {error}") from None


def checked(path: str, content: Any) -> Mapping[str, Any]:
    """Return what is written if it is an object; raise ManifestError if not."""
    if not isinstance(content, Mapping):
        raise ManifestError(f"{path}: expected objects, got {type(content).__name__}; write apiVersion, kind, metadata")
    for field in ("apiVersion", "kind"):
        if not isinstance(content.get(field), str) or not content[field]:
            raise ManifestError(f"{path}: an object has no {field}; say what it is")
    if not isinstance(content.get("metadata", {}), Mapping):
        raise ManifestError(f"{path}: {content['kind']}: metadata: expected an object; give it a name there")
    return content


# A copy of another cluster


async def read_copy(path: str, tell: Callable[[str], None]) -> list[Manifest]:
    """Read the objects of another cluster; `tell` hears what is left out. Raise SourceError if there is no way."""
    text = read_text(path)
    if _is_kubeconfig(text):
        return await read_cluster(path, tell)
    found = read([path])
    left = sorted({one.kind for one in found if one.kind in _NOT_COPIED})
    if left:
        tell(f"{path}: {', '.join(left)} objects are not copied")
    return [one for one in found if one.kind not in left]


def _is_kubeconfig(text: str) -> bool:
    # A dump may be large, and a kubeconfig is not: looked at only as far as needed.
    lines = {line.rstrip() for line in text[:100_000].splitlines()}
    return "kind: Config" in lines and any(line.startswith("clusters:") for line in lines)


async def read_cluster(
    path: str, tell: Callable[[str], None], *, context: str = "", has_all: bool = False
) -> list[Manifest]:
    """Read the objects of a live cluster; without a kubeconfig, of the one we run in. Raise SourceError if it fails.

    With `has_all` also those that scheduling reads only of some clusters.
    """
    try:
        found = await credentials.load(path, os.environ, now, context=context)
    except CredentialsError as error:
        raise ManifestError(str(error)) from None
    client = Client(found, ClientSettings(USER_AGENT, qps=-1))
    try:
        listed: list[Manifest] = []
        for version, *plurals in _COPIED:
            for plural in plurals:
                listed += await _list(client, version, plural, tell)
        for version, plural in _PERHAPS if has_all else ():
            # Most clusters have none of it, which is not worth a word.
            listed += await _list(client, version, plural, tell, is_expected=False)
        return listed
    except RequestError as error:
        raise ManifestError(f"{path}: {error.describe()}") from None
    finally:
        await client.close()


async def _list(
    client: Client, version: str, plural: str, tell: Callable[[str], None], *, is_expected: bool = True
) -> list[Manifest]:
    collection = f"/{'apis' if '/' in version else 'api'}/{version}/{plural}"
    found: list[Manifest] = []
    parameters = {"limit": str(_PAGE)}
    while True:
        request = ApiRequest("GET", collection, parameters, silence_seconds=_SILENCE_SECONDS)
        try:
            page = json_values.read_object(await client.send(request))
        except ApiError as error:
            if not error.is_unavailable:
                raise
            if is_expected or error.code == FORBIDDEN:
                tell(f"{collection} is left out: {error.message}")
            return found
        items, kind = page.get("items") or (), page["kind"].removesuffix("List")
        found += [Manifest(collection, {**item, "apiVersion": version, "kind": kind}) for item in items]
        parameters = {"limit": str(_PAGE), "continue": page["metadata"].get("continue", "")}
        if not parameters["continue"]:
            return found
