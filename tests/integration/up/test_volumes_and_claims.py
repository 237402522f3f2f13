"""Pods with volumes and with devices lead their life in `stowplan up`, from being made to running and going again."""

from pathlib import Path
from typing import Any

from tests.integration.up.up_process import Up, run, running

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
DEVICES = "/apis/resource.k8s.io/v1"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
HOSTNAME = "kubernetes.io/hostname"
WANTED: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def create(up: Up, collection: str, obj: dict[str, Any]) -> dict[str, Any]:
    code, made = up.send("POST", collection, obj)
    assert code == 201, made
    return dict(made)


def phase(up: Up, name: str) -> str:
    code, found = up.send("GET", f"{PODS}/{name}", None)
    return str(found["status"].get("phase")) if code == 200 else ""


def until_running(up: Up, *names: str) -> None:
    for name in names:
        up.until(lambda name=name: phase(up, name) == "Running")  # type: ignore[misc]


def table(up: Up, path: str, *columns: str) -> list[tuple[Any, ...]]:
    """Some columns of what kubectl shows."""
    shown = up.get(path, Accept=TABLE)
    at = [column["name"] for column in shown["columnDefinitions"]]
    return [tuple(row["cells"][at.index(name)] for name in columns) for row in shown["rows"]]


def hosts_of(volume: dict[str, Any]) -> list[str]:
    """The nodes that reach a volume, by their host names."""
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    (expression,) = term["matchExpressions"]
    assert (expression["key"], expression["operator"]) == (HOSTNAME, "In")
    return list(expression["values"])


def is_running_anew(up: Up, name: str, uid: str) -> bool:
    """Whether another pod of that name runs: both are read at once, as the two follow each other."""
    code, found = up.send("GET", f"{PODS}/{name}", None)
    return code == 200 and found["metadata"]["uid"] != uid and found["status"].get("phase") == "Running"


def test_a_stateful_set_gets_a_volume_for_each_pod_where_it_runs(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "3") as up:
        assert table(up, CLASSES, "Name", "Provisioner", "VolumeBindingMode") == [
            ("standard (default)", "stowplan.dev/local", "WaitForFirstConsumer")
        ]
        spec = {
            "replicas": 2,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": pod("db")["spec"]},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": WANTED}],
        }
        create(up, "/apis/apps/v1/namespaces/default/statefulsets", {"metadata": {"name": "db"}, "spec": spec})
        until_running(up, "db-0", "db-1")
        assert sorted(table(up, CLAIMS, "Name", "Status", "Capacity", "StorageClass")) == [
            ("data-db-0", "Bound", "1Gi", "standard"),
            ("data-db-1", "Bound", "1Gi", "standard"),
        ]
        assert sorted(table(up, VOLUMES, "Status", "Claim", "Reclaim Policy")) == [
            ("Bound", "default/data-db-0", "Delete"),
            ("Bound", "default/data-db-1", "Delete"),
        ]
        where = up.node_of("db-1")
        volume = up.get(f"{VOLUMES}/{up.get(f'{CLAIMS}/data-db-1')['spec']['volumeName']}")
        assert hosts_of(volume) == [up.get(f"/api/v1/nodes/{where}")["metadata"]["labels"][HOSTNAME]]
        # A pod that comes again goes where its data is.
        uid = up.get(f"{PODS}/db-1")["metadata"]["uid"]
        up.send("DELETE", f"{PODS}/db-1", None)
        up.until(lambda: is_running_anew(up, "db-1", uid))
        assert up.node_of("db-1") == where


def test_an_ephemeral_volume_comes_and_goes_with_its_pod(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "2") as up:
        volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": WANTED}}}
        create(up, PODS, pod("web", volumes=[volume]))
        until_running(up, "web")
        assert table(up, CLAIMS, "Name", "Status") == [("web-scratch", "Bound")]
        up.send("DELETE", f"{PODS}/web", None)
        up.until(lambda: not up.get(CLAIMS)["items"] and not up.get(VOLUMES)["items"])


def test_a_pod_goes_to_the_node_of_a_local_volume(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "3") as up:
        node = up.get("/api/v1/nodes")["items"][-1]["metadata"]
        local = {
            "metadata": {"name": "local"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        create(up, CLASSES, local)
        expression = {"key": HOSTNAME, "operator": "In", "values": [node["labels"][HOSTNAME]]}
        disk = {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "local": {"path": "/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        }
        create(up, VOLUMES, {"metadata": {"name": "disk"}, "spec": disk})
        create(up, CLAIMS, {"metadata": {"name": "data"}, "spec": {**WANTED, "storageClassName": "local"}})
        create(up, PODS, pod("web", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]))
        until_running(up, "web")
        assert up.node_of("web") == node["name"]
        assert table(up, VOLUMES, "Name", "Status", "Claim") == [("disk", "Bound", "default/data")]
        # What is in use stays, and what is kept is released.
        up.send("DELETE", f"{CLAIMS}/data", None)
        assert table(up, CLAIMS, "Name", "Status") == [("data", "Terminating")]
        up.send("DELETE", f"{PODS}/web", None)
        up.until(lambda: table(up, VOLUMES, "Status") == [("Released",)])
        assert up.get(CLAIMS)["items"] == []


def test_a_pod_gets_a_device_by_a_template_and_gives_it_back(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "2") as up:
        claims = f"{DEVICES}/namespaces/default/resourceclaims"
        node = up.get("/api/v1/nodes")["items"][0]["metadata"]["name"]
        create(up, f"{DEVICES}/deviceclasses", {"metadata": {"name": "gpu"}, "spec": {}})
        offered = {
            "driver": "gpu.example.com",
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "nodeName": node,
            "devices": [{"name": "gpu-0"}],
        }
        create(up, f"{DEVICES}/resourceslices", {"metadata": {"name": "gpus"}, "spec": offered})
        asked = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
        template = {"metadata": {"name": "one-gpu"}, "spec": {"spec": asked}}
        create(up, f"{DEVICES}/namespaces/default/resourceclaimtemplates", template)
        entries = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
        create(up, PODS, pod("first", resourceClaims=entries))
        until_running(up, "first")
        assert up.node_of("first") == node
        name = up.get(f"{PODS}/first")["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
        assert table(up, claims, "Name", "State") == [(name, "allocated,reserved")]
        create(up, PODS, pod("second", resourceClaims=entries))
        up.until(lambda: "second" in run(tmp_path, "queue", "--place", "unschedulable").stdout)
        up.send("DELETE", f"{PODS}/first", None)
        until_running(up, "second")
        assert [state for (state,) in table(up, claims, "State")] == ["allocated,reserved"]


def test_volumes_are_for_somebody_else_to_make_if_that_is_asked_for(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "1", "--without", "provisioner") as up:
        assert up.get(CLASSES)["items"] == []
        create(up, CLASSES, {"metadata": {"name": "fast"}, "provisioner": "disks.example.com"})
        create(up, CLAIMS, {"metadata": {"name": "data"}, "spec": {**WANTED, "storageClassName": "fast"}})
        asked = "volume.kubernetes.io/storage-provisioner"
        up.until(lambda: asked in up.get(f"{CLAIMS}/data")["metadata"].get("annotations", {}))
        assert table(up, CLAIMS, "Name", "Status") == [("data", "Pending")]


def test_a_default_class_of_ones_own_takes_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "class.yaml").write_text(
        "apiVersion: storage.k8s.io/v1\n"
        "kind: StorageClass\n"
        "metadata: {name: zonal, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}\n"
        "provisioner: disks.example.com\n"
    )
    with running(tmp_path, "--nodes", "1", "class.yaml") as up:
        assert table(up, CLASSES, "Name") == [("zonal (default)",)]


def test_once_does_not_wait_for_volumes_that_nobody_makes(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(
        "apiVersion: v1\n"
        "kind: Pod\n"
        "metadata: {name: stuck}\n"
        "spec:\n"
        "  nodeName: node-0001\n"
        "  containers: [{name: main, image: 'app:1'}]\n"
        "  volumes: [{name: v, persistentVolumeClaim: {claimName: nowhere}}]\n"
        "---\n"
        "{apiVersion: v1, kind: Pod, metadata: {name: free}, spec: {containers: [{name: main, image: 'app:1'}]}}\n"
    )
    done = run(tmp_path, "up", "--once", "--nodes", "1", "pod.yaml")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "1 of 1 pending pods placed"), done.stderr
