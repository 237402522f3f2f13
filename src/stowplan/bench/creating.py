"""The operations that make or change objects and wait for nothing: nodes, namespaces, objects of any kind, devices."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from stowplan.bench import objects
from stowplan.bench.objects import NodeMaker, ObjectTemplate
from stowplan.bench.operations import (
    CreateAny,
    CreateNamespaces,
    CreateNodes,
    CreatePodGroups,
    CreateResourceClaims,
    CreateResourceDriver,
    UpdateAny,
)
from stowplan.bench.originals import Originals
from stowplan.bench.parameters import Parameters, WorkloadError
from stowplan.bench.ports import BenchApi
from stowplan.bench.workloads import Selected
from stowplan.model import decode
from stowplan.model.device_pool import ResourceSlice
from stowplan.model.kinds import Namespace
from stowplan.model.node import Node
from stowplan.model.pod import Pod

replace = msgspec.structs.replace

#: By which upstream's Go code, not its YAML, says how many features nodes declare.
DECLARED_FEATURES: Final = "numNodeDeclaredFeatures"


@dataclass(slots=True)
class Creator:
    """Does what operations say to the objects of one API server."""

    api: BenchApi
    selected: Selected
    parameters: Parameters
    #: In which version a server of the release keeps a kind that came in several: `objects.served_versions`.
    versions: Mapping[str, str]
    #: Told of what templates describe, where the server wants all of it.
    originals: Originals | None = None
    _templates: dict[str, ObjectTemplate] = field(default_factory=dict)
    # What nodes are called beyond what their templates say; among some thousands of them, chance would repeat itself.
    _given_out: set[str] = field(default_factory=set)

    def template(self, path: str) -> ObjectTemplate:
        """Return a template by the path that an operation names; each is read once."""
        found = self._templates.get(path)
        if found is None:
            found = self._templates[path] = ObjectTemplate.read(self.selected.file(path), self.versions, self.originals)
        return found

    def create_namespace(self, name: str, template: Namespace | None = None) -> None:
        """Create a namespace, unless it is there."""
        if self.api.get(Namespace, name) is None:
            self.api.create(objects.make_namespace(name, template))

    def create_namespaces(self, step: CreateNamespaces) -> list[str]:
        template = self.template(step.namespace_template_path).make({}) if step.namespace_template_path else None
        names = [f"{step.prefix}-{number}" for number in range(step.number)]
        for name in names:
            self.create_namespace(name, template)
        return names

    def create_nodes(self, step: CreateNodes, number: int) -> Iterator[Any]:
        """Create nodes, one at a time; `number` is that of the operation."""
        template = self.template(step.node_template_path) if step.node_template_path else None
        maker = NodeMaker(step, template, number)
        features = self.parameters.peek(DECLARED_FEATURES)
        if features is not None:
            maker.declared_features = tuple(sorted(f"Feature{one}" for one in range(1, int(features) + 1)))
        for index in range(step.number):
            node, csi_node = maker.make(index, self._unique())
            yield self.api.create(node)
            if csi_node is not None:
                self.api.create(csi_node)

    def _unique(self) -> str:
        found = self.api.new_name("")
        while found in self._given_out:
            found = self.api.new_name("")
        self._given_out.add(found)
        return found

    def create_any(self, step: CreateAny | CreatePodGroups | CreateResourceClaims) -> Iterator[Any]:
        """Create objects of a template, one at a time."""
        if step.namespace:
            self.create_namespace(step.namespace)
        template = self.template(step.template_path)
        env = {} if isinstance(step, CreateResourceClaims) else step.template_params
        for index in range(step.number):
            found = template.make({**env, "Index": index, "Count": step.number})
            yield self.api.create(objects.in_namespace(found, step.namespace))

    def update_any(self, step: UpdateAny, index: int) -> None:
        """Update an object to what a template says: first all but its status, then its status."""
        found = self.template(step.template_path).make({"Index": index, "Count": step.number})
        found = objects.in_namespace(found, step.namespace)
        try:
            known = self.api.known(found)
        except LookupError as error:
            raise WorkloadError(f"updateAny: {error}") from None
        if isinstance(found, Pod) and found.node_name != known.node_name:
            raise WorkloadError(f"updateAny: pod {known.key!r} may not change from {known.node_name!r} to another node")
        meta = known.metadata
        metadata = replace(meta, labels=found.metadata.labels, annotations=found.metadata.annotations)
        wanted = replace(found, metadata=metadata)
        if hasattr(found, "status"):
            known = self.api.update(replace(wanted, status=known.status))
            if known.status == found.status:
                return
        self.api.update(replace(wanted, metadata=self.api.known(wanted).metadata))

    def create_resource_driver(self, step: CreateResourceDriver) -> Iterator[Any]:
        """Publish the devices of a driver, node by node."""
        content = _devices(step.max_claims_per_node)
        for node in self.api.all(Node):
            if fnmatch.fnmatchcase(node.name, step.nodes):
                spec = {
                    "driver": step.driver_name,
                    "nodeName": node.name,
                    "pool": {"name": node.name, "resourceSliceCount": 1},
                    "devices": content,
                }
                found = decode.convert(ResourceSlice, {"metadata": {"name": node.name}, "spec": spec})
                yield self.api.create(found)


def _devices(count: int) -> list[dict[str, Any]]:
    """Return devices such as upstream's test driver has."""
    return [
        {
            "name": f"instance-{number}",
            "attributes": {
                "model": {"string": "A100"},
                "family": {"string": "GPU"},
                "driverVersion": {"version": "1.2.3"},
                "dra.example.com/numa": {"int": number},
            },
            "capacity": {"memory": {"value": "1Gi"}},
        }
        for number in range(count)
    ]


def matcher(namespaces: frozenset[str], labels: dict[str, str]) -> Callable[[Pod], bool]:
    """Return what tells pods of some namespaces (none: of all) with some labels."""
    wanted = tuple(labels.items())

    def matches(pod: Pod) -> bool:
        if namespaces and pod.metadata.namespace not in namespaces:
            return False
        return all(pod.metadata.labels.get(key) == value for key, value in wanted)

    return matches
