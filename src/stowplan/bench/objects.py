"""The objects that the operations of a workload make: from templates, with what an API server fills in.

A template that is the same for all objects is read once; what comes out of one with actions in it is read once for
each text that comes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from stowplan.bench.operations import CreateNodes, CreatePods
from stowplan.bench.originals import Originals
from stowplan.bench.parameters import WorkloadError, read_file
from stowplan.bench.templates import Template
from stowplan.model import decode, manifests
from stowplan.model.affinity import Toleration
from stowplan.model.dra import ResourceClaimTemplate
from stowplan.model.json_values import MalformedObject
from stowplan.model.kinds import Namespace
from stowplan.model.meta import ApiObject, Condition, NamespacedMeta, ObjectMeta, ObjectReference
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.storage import (
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeNodeResources,
)
from stowplan.model.volumes import ClaimSource, ResourceRequirements, Volume

replace = msgspec.structs.replace

HOSTNAME: Final = "kubernetes.io/hostname"
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
MIGRATED: Final = "storage.alpha.kubernetes.io/migrated-plugins"
SIGNATURE: Final = "signature"
_VOLUME: Final = "vol"
_PATHS_ARE_FROM: Final = "paths of templates are meant from the folder of the performance-config.yaml that names them"
#: Versions of APIs whose objects look the same, as far as scheduling reads them.
_SAME_SHAPE: Final = frozenset(
    (
        "resource.k8s.io/v1",
        "resource.k8s.io/v1beta2",
        "resource.k8s.io/v1alpha3",
        "scheduling.k8s.io/v1beta1",
        "scheduling.k8s.io/v1alpha3",
        "scheduling.k8s.io/v1alpha2",
    )
)
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
#: As the admission plugin DefaultTolerationSeconds adds them to every pod.
_TOLERATIONS: Final = tuple(
    Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=300) for key in _TAINTS
)
#: What a server says at once of a pod that may not be tried yet.
_GATED: Final = Condition(
    type="PodScheduled",
    status="False",
    reason="SchedulingGated",
    message="Scheduling is blocked due to non-empty scheduling gates",
)
#: What is created where an operation names no template.
_BASE_POD: Final = """
apiVersion: v1
kind: Pod
metadata: {generateName: pod-}
spec:
  containers:
  - name: pause
    image: registry.k8s.io/pause:3.10.2
    ports: [{containerPort: 80}]
    resources: {limits: {cpu: 100m, memory: 500Mi}, requests: {cpu: 100m, memory: 500Mi}}
"""
_BASE_NODE: Final = """
apiVersion: v1
kind: Node
metadata: {generateName: node-{{.Operation}}-}
status:
  capacity: {pods: "110", cpu: "4", memory: 32Gi}
  conditions: [{type: Ready, status: "True"}]
  phase: Running
"""


class ObjectTemplate:
    """Objects of one template; `path` is for messages."""

    def __init__(
        self,
        text: str,
        path: str,
        versions: Mapping[str, str] = MappingProxyType({}),
        originals: Originals | None = None,
    ) -> None:
        self._path, self._versions, self._originals = path, versions, originals
        with _blaming(path):
            self._template = Template(text)
        self._known: dict[str, Any] = {}

    @classmethod
    def read(cls, path: Path, versions: Mapping[str, str], originals: Originals | None = None) -> ObjectTemplate:
        """Read a file; `originals` is told of what it describes, for whoever needs all of that."""
        return cls(read_file(path, _PATHS_ARE_FROM), str(path), versions, originals)

    def check(self, env: Mapping[str, Any]) -> None:
        """Raise WorkloadError if no object comes out for some values; which kind it is, is not looked at."""
        self._read(self._rendered(env))

    def make(self, env: Mapping[str, Any]) -> Any:
        """Return the object for some values, without what a server adds."""
        text = self._rendered(env)
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._decoded(text)
        return found

    def _rendered(self, env: Mapping[str, Any]) -> str:
        with _blaming(self._path):
            return self._template.render(env)

    def _decoded(self, text: str) -> Any:
        content = self._read(text)
        with _blaming(self._path):
            found = with_defaults(decode.decode_object(self._converted(content)))
        if self._originals is not None:
            self._originals.note(found, content)
        return found

    def _read(self, text: str) -> Any:
        with _blaming(self._path):
            contents = list(manifests.read(text))
            if len(contents) != 1:
                raise WorkloadError(f"expected one object, got {len(contents)}; write one, without a list around it")
            return contents[0]

    def _converted(self, content: Any) -> Any:
        """Return an object in the version in which it is kept: a server takes others, too."""
        if not isinstance(content, dict):
            return content
        version, kind = str(content.get("apiVersion", "")), str(content.get("kind", ""))
        wanted = self._versions.get(kind, version)
        if wanted == version or wanted.rpartition("/")[0] != version.rpartition("/")[0]:
            return content
        if version not in _SAME_SHAPE:
            raise WorkloadError(f"{kind} of {version} is not known here; write it as {wanted}")
        return {**content, "apiVersion": wanted}


def served_versions(models: Iterable[type[ApiObject]]) -> dict[str, str]:
    """Return by kind the version in which objects are kept; `models` are the kinds that a scheduler watches."""
    watched = {model().kind: model().api_version for model in models}
    return {ResourceClaimTemplate().kind: ResourceClaimTemplate().api_version, **watched}


@contextmanager
def _blaming(path: str) -> Iterator[None]:
    """Put the name of a file before what is wrong in it."""
    try:
        yield
    except (MalformedObject, WorkloadError) as error:
        raise WorkloadError(f"{path}: {error}") from None


def with_defaults(found: Any) -> Any:
    """Return an object with the defaults of an API server that scheduling can see."""
    match found:
        case Pod():
            spec = found.spec
            spec = replace(
                spec,
                tolerations=(
                    *spec.tolerations,
                    *(one for one in _TOLERATIONS if not _tolerates(spec.tolerations, one)),
                ),
                containers=tuple(_with_requests(one) for one in spec.containers),
                init_containers=tuple(_with_requests(one) for one in spec.init_containers),
            )
            status = found.status
            if spec.scheduling_gates:
                status = replace(status, conditions=(*status.conditions, _GATED))
            return replace(found, spec=spec, status=status)
        case Node():
            allocatable = found.status.allocatable or found.status.capacity
            return replace(found, status=replace(found.status, allocatable=allocatable))
        case _:
            return found


def _tolerates(tolerations: tuple[Toleration, ...], wanted: Toleration) -> bool:
    return any(one.key in ("", wanted.key) and one.effect in ("", wanted.effect) for one in tolerations)


def _with_requests(container: Any) -> Any:
    resources: ResourceRequirements = container.resources
    if not resources.limits:
        return container
    return replace(container, resources=replace(resources, requests={**resources.limits, **resources.requests}))


# Namespaces


def make_namespace(name: str, template: Namespace | None = None) -> Namespace:
    found = template or Namespace()
    labels = {**found.metadata.labels, NAMESPACE_NAME: name}
    return replace(found, metadata=replace(found.metadata, name=name, labels=labels))


def in_namespace(found: Any, namespace: str) -> Any:
    """Return an object of a template in the namespace that an operation names; raise WorkloadError if it has none."""
    if isinstance(found, decode.UnknownObject):
        return found
    is_namespaced = isinstance(found.metadata, NamespacedMeta)
    if is_namespaced != bool(namespace):
        problem = "is in no namespace, and one is given" if namespace else "is in a namespace, and none is given"
        raise WorkloadError(f"a {found.kind} {problem}")
    return replace(found, metadata=replace(found.metadata, namespace=namespace)) if namespace else found


# Nodes


class NodeMaker:
    """Makes the nodes of one operation, and what belongs to each; `name` completes the beginning of a name."""

    def __init__(self, step: CreateNodes, template: ObjectTemplate | None, number: int) -> None:
        self._step = step
        self._template = template or ObjectTemplate(_BASE_NODE, "the default node")
        self._env = {**step.template_params, "Count": step.number, "Operation": number}
        #: What every node declares that it knows, if a workload says so.
        self.declared_features: tuple[str, ...] = ()

    def make(self, index: int, unique: str) -> tuple[Node, CSINode | None]:
        """Return a node, and what it says about its volumes; `unique` is a text that no other node is given."""
        node = self._template.make({**self._env, "Index": index})
        if not isinstance(node, Node):
            raise WorkloadError(f"createNodes: the template is a {node.kind}, and has to be a Node")
        step = self._step
        name = node.name or f"{node.metadata.generate_name}{unique}"
        labels = {**node.labels, HOSTNAME: name}
        status = replace(node.status, declared_features=self.declared_features or node.status.declared_features)
        csi_node = None
        if step.node_allocatable_strategy is not None:
            status = replace(status, allocatable={**status.allocatable, **self._allocatable()})
            csi_node = self._csi_node(name)
        elif step.label_node_prepare_strategy is not None:
            values = step.label_node_prepare_strategy.label_values
            labels[step.label_node_prepare_strategy.label_key] = values[index % len(values)]
        elif step.unique_node_label_strategy is not None:
            labels[step.unique_node_label_strategy.label_key] = f"{unique}-{index}"
        return replace(node, metadata=replace(node.metadata, name=name, labels=labels), status=status), csi_node

    def _allocatable(self) -> dict[str, Any]:
        strategy = self._step.node_allocatable_strategy
        assert strategy is not None
        content = {"status": {"allocatable": strategy.node_allocatable}}
        with _blaming("nodeAllocatableStrategy"):
            return decode.convert(Node, content).status.allocatable

    def _csi_node(self, name: str) -> CSINode:
        strategy = self._step.node_allocatable_strategy
        assert strategy is not None
        drivers = tuple(
            CSINodeDriver(name=driver, node_id=name, allocatable=VolumeNodeResources(count=limits.get("count")))
            for driver, limits in strategy.csi_node_allocatable.items()
        )
        annotations = {MIGRATED: ",".join(strategy.migrated_plugins)}
        return CSINode(metadata=ObjectMeta(name=name, annotations=annotations), spec=CSINodeSpec(drivers=drivers))


# Pods


class PodMaker:
    """Makes the pods of one operation, each after the volume and the claim that it uses, if it does."""

    def __init__(self, step: CreatePods, templates: Mapping[str, ObjectTemplate], namespace: str) -> None:
        """`templates` has `pod`, and for pods with volumes `volume` and `claim`."""
        self._step, self._namespace = step, namespace
        self._pod = templates.get("pod") or ObjectTemplate(_BASE_POD, "the default pod")
        self._has_template = "pod" in templates
        self._volume, self._claim = templates.get("volume"), templates.get("claim")

    def make_all(self, count: int) -> Iterator[Any]:
        """Return everything to be created for a number of pods, in order."""
        for index in range(count):
            yield from self._make(index, count)

    def _make(self, index: int, count: int) -> Iterator[Any]:
        pod = self._pod.make({**self._step.template_params, "Index": index, "Count": count})
        if not isinstance(pod, Pod):
            raise WorkloadError(f"createPods: the template is a {pod.kind}, and has to be a Pod")
        labels, batch = pod.labels, self._step.signature_batch_size
        if batch and self._has_template:
            labels = {**labels, SIGNATURE: f"signature-label-{index // batch}"}
        pod = replace(pod, metadata=replace(pod.metadata, namespace=self._namespace, labels=labels))
        if self._claim is not None:
            claim_name = f"pvc-{index}"
            yield from self._make_volume(index, claim_name)
            pod = replace(pod, spec=replace(pod.spec, volumes=_claimed(claim_name)))
        yield pod

    def _make_volume(self, index: int, claim_name: str) -> Iterator[Any]:
        """Return a volume and a claim, bound to each other."""
        assert self._claim is not None
        env = {"Index": index}
        name = f"{self._namespace}-vol-{index}"
        claim: PersistentVolumeClaim = self._claim.make(env)
        yield replace(
            claim,
            metadata=replace(claim.metadata, name=claim_name, namespace=self._namespace),
            spec=replace(claim.spec, volume_name=name),
            status=replace(claim.status, phase="Bound"),
        )
        if self._volume is None:
            raise WorkloadError("createPods: persistentVolumeClaimTemplatePath needs a persistentVolumeTemplatePath")
        volume: PersistentVolume = self._volume.make(env)
        spec = volume.spec
        reference = ObjectReference(
            api_version="v1", kind="PersistentVolumeClaim", namespace=self._namespace, name=claim_name
        )
        spec = replace(spec, claim_ref=reference)
        if spec.csi is not None:
            spec = replace(spec, csi=replace(spec.csi, volume_handle=name))
        elif spec.aws_elastic_block_store is not None:
            identified = replace(spec.aws_elastic_block_store, volume_id=f"vol-{index}")
            spec = replace(spec, aws_elastic_block_store=identified)
        metadata = replace(volume.metadata, name=name)
        yield replace(volume, metadata=metadata, spec=spec, status=replace(volume.status, phase="Bound"))


def _claimed(claim_name: str) -> tuple[Volume, ...]:
    return (Volume(name=_VOLUME, persistent_volume_claim=ClaimSource(claim_name=claim_name)),)
