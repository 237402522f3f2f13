"""Scenes about volumes: a pod whose claims keep it from all nodes, or leave it just one."""

from __future__ import annotations

from typing import Any, Final

from tests.e2e import storage
from tests.e2e.api import Object
from tests.e2e.families import DATABASE
from tests.e2e.manifests import ZONE, node
from tests.e2e.scenes import HELD, HIGH, NAMESPACE, WANTED, Scene, in_zone, running, wanted
from tests.e2e.storage import attachable, bound, csi_node, free_space, scratch, storage_class, volume, volumes_of

DRIVER: Final = "csi.example.test"
LATE, AT_ONCE, MADE, MADE_IN_A, MEASURED = "late", "at-once", "made", "made-in-a", "measured"
ONE_POD: Final = {"accessModes": ["ReadWriteOncePod"]}

CLASSES: Final = (
    storage_class(LATE),
    storage_class(AT_ONCE, DRIVER, waits=False),
    storage_class(MADE, "elsewhere.example.test"),
    storage_class(MADE_IN_A, DRIVER, allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]),
    storage_class(MEASURED, "measured.example.test"),
    storage.csi_driver("measured.example.test"),
)


def claim(name: str, of_class: str = LATE, size: str = "1Gi", **spec: Any) -> Object:
    return storage.claim(NAMESPACE, name, of_class, size, **spec)


def on_disk(name: str, *nodes: str, **spec: Any) -> list[Object]:
    """Describe a claim that has its volume, which is reached from some nodes."""
    return bound(claim(name, **spec), volume(name, LATE, nodes))


def attached(name: str, driver: str) -> list[Object]:
    return bound(claim(name), volume(name, LATE, csi=attachable(driver, name)))


def with_metadata(item: Object, **metadata: Any) -> Object:
    return {**item, "metadata": {**item["metadata"], **metadata}}


def wanting(*claims: str, **more: Any) -> Object:
    return wanted(**{"volumes": volumes_of(*claims), **more})


def another_pods(name: str) -> Object:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": WANTED, "uid": "of-another", "controller": True}
    return with_metadata(claim(name), ownerReferences=[owner])


VOLUME_SCENES: Final = (
    Scene(
        "a claim that goes",
        'persistentvolumeclaim "going" is being deleted',
        wanting("going"),
        [node("n1")],
        objects=[
            *CLASSES,
            with_metadata(claim("going"), finalizers=[HELD], deletionTimestamp="now"),
        ],
    ),
    Scene(
        "a claim that lost its volume",
        'persistentvolumeclaim "lost" bound to non-existent persistentvolume',
        wanting("lost"),
        [node("n1")],
        objects=[claim("lost") | {"status": {"phase": "Lost"}}],
    ),
    Scene(
        "a claim whose volume does not exist",
        "persistentvolume",
        wanting("widowed"),
        [node("n1")],
        objects=bound(claim("widowed"), volume("nowhere", LATE))[:1],
    ),
    Scene(
        "a claim that is to be bound at once",
        "pod has unbound immediate PersistentVolumeClaims",
        wanting("early"),
        [node("n1")],
        objects=[claim("early", AT_ONCE)],
    ),
    Scene(
        "a claim of a class that does not exist",
        "pod has unbound immediate PersistentVolumeClaims",
        wanting("classless"),
        [node("n1")],
        objects=[claim("classless", "nowhere")],
    ),
    Scene(
        "a volume on another node",
        "1 Insufficient cpu, 2 node(s) didn't match PersistentVolume's node affinity",
        wanting("far", containers=[{"name": "main", "image": "i", "resources": {"requests": {"cpu": "5"}}}]),
        [node("n1"), node("n2", {"cpu": "8"}), node("n3", {"cpu": "8"})],
        objects=on_disk("far", "n1"),
    ),
    Scene(
        "a volume in another zone",
        "1 node(s) had no available volume zone",
        wanting("zonal"),
        [in_zone("n1", "b")],
        objects=[
            one if one["kind"] != "PersistentVolume" else storage.labelled(one, {ZONE: "a"}) for one in on_disk("zonal")
        ],
    ),
    Scene(
        "no volume that fits",
        "3 node(s) didn't find available persistent volumes to bind",
        wanting("large"),
        [node("n1"), node("n2"), node("n3")],
        objects=[
            claim("large", size="5Gi"),
            volume("small-1", LATE, ["n1"], "4Gi"),
            volume("large-elsewhere", LATE, ["n9"], "5Gi"),
            *bound(claim("large-taken"), volume("large-2", LATE, ["n2"], "5Gi"))[1:],
        ],
    ),
    Scene(
        "volumes for one claim but not for both",
        "2 node(s) didn't find available persistent volumes to bind",
        wanting("both-1", "both-2"),
        [node("n1"), node("n2")],
        objects=[
            storage_class("both"),
            claim("both-1", "both"),
            claim("both-2", "both"),
            volume("both-1", "both", ["n1"]),
            volume("both-2", "both", ["n2"]),
        ],
    ),
    Scene(
        "volumes may be made elsewhere only",
        "1 Insufficient cpu, 1 node(s) didn't find available persistent volumes to bind",
        wanting("in-a", containers=[{"name": "main", "image": "i", "resources": {"requests": {"cpu": "5"}}}]),
        [in_zone("n1", "a"), in_zone("n2", "b") | {"status": node("n2", {"cpu": "8"})["status"]}],
        objects=[claim("in-a", MADE_IN_A)],
    ),
    Scene(
        "too little space",
        "2 node(s) did not have enough free storage",
        wanting("measured"),
        [node("n1"), node("n2")],
        objects=[
            claim("measured", MEASURED, "5Gi"),
            free_space(NAMESPACE, "on-n1", MEASURED, "n1", "4Gi"),
            free_space(NAMESPACE, "on-n9", MEASURED, "n9", "9Gi"),
        ],
    ),
    Scene(
        "as many volumes as can be attached",
        "1 Insufficient cpu, 1 node(s) exceed max volume count",
        wanting("attached-2", containers=[{"name": "main", "image": "i", "resources": {"requests": {"cpu": "2"}}}]),
        [node("attaching"), node("n1", {"cpu": "1"})],
        [running("busy", "attaching", volumes=volumes_of("attached-1"))],
        objects=[
            *attached("attached-1", "limited.example.test"),
            *attached("attached-2", "limited.example.test"),
            csi_node("attaching", "limited.example.test", 1),
        ],
    ),
    Scene(
        "a volume that one pod has to itself",
        "unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
        wanting("alone"),
        [node("n1")],
        [running("busy", "n1", volumes=volumes_of("alone"))],
        objects=on_disk("alone", **ONE_POD),
    ),
    Scene(
        "a volume that a lesser pod has to itself",
        "nominated='n1'",
        wanting("shy", priorityClassName=HIGH),
        [node("n1")],
        [with_metadata(running("busy", "n1", volumes=volumes_of("shy")), finalizers=[HELD])],
        events={WANTED: 1, "busy": 1},
        objects=on_disk("shy", **ONE_POD),
    ),
    Scene(
        "a claim that is still to be made for it",
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "wanted-unmade"',
        wanted(volumes=scratch("unmade", LATE)),
        [node("n1")],
    ),
    Scene(
        "a claim that was made for another pod",
        "PVC parity/wanted-scratch was not created for pod parity/wanted (pod is not owner)",
        wanted(volumes=scratch("scratch", LATE)),
        [node("n1")],
        objects=[another_pods("wanted-scratch")],
    ),
    Scene(
        "a volume that is just being made",
        "nominated='n1'",
        wanting("coming"),
        [node("n1")],
        events={WANTED: 0},
        objects=[claim("coming", MADE)],
    ),
    Scene(
        "a volume that is just being bound",
        "nominated='n1'",
        wanting("given"),
        [node("n1"), node("n2")],
        events={WANTED: 0},
        objects=[storage_class("given"), claim("given", "given"), volume("given", "given", ["n1"])],
    ),
    Scene(
        "room to attach its volume is made for it",
        "nominated='cleared'",
        wanting("attached-4", priorityClassName=HIGH),
        [node("cleared"), node("n1") | {"spec": {"taints": [DATABASE]}}],
        [with_metadata(running("busy", "cleared", volumes=volumes_of("attached-3")), finalizers=[HELD])],
        events={WANTED: 1, "busy": 1},
        objects=[
            *attached("attached-3", "limited.example.test"),
            *attached("attached-4", "limited.example.test"),
            csi_node("cleared", "limited.example.test", 1),
        ],
    ),
    Scene(
        "a claim for each node and none for all",
        "1 node(s) didn't find available persistent volumes to bind, "
        "1 node(s) didn't match PersistentVolume's node affinity",
        wanting("left", "right"),
        [node("n1"), node("n2")],
        objects=[
            *on_disk("left", "n1"),
            storage_class("right"),
            claim("right", "right"),
            volume("right", "right", ["n2"]),
        ],
    ),
    Scene(
        "it lands where its volume is",
        "Successfully assigned parity/wanted to n2",
        wanting("near"),
        [node("n1"), node("n2"), node("n3")],
        objects=on_disk("near", "n2"),
    ),
)
