"""What plugins do after a node is chosen is on `/metrics`, of `stowplan up` and of `stowplan run` beside it."""

import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.up.up_process import PROGRAM, Up, environment, running
from tests.limits import LIMIT_SECONDS
from tests.unit.app.test_live import free_port

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
DEVICES = "/apis/resource.k8s.io/v1"
DEVICE_CLAIMS = f"{DEVICES}/namespaces/default/resourceclaims"
DRIVER = "gpu.example.com"
WAIT = "scheduler_dra_bindingconditions_wait_duration_seconds"
POINT = "scheduler_framework_extension_point_duration_seconds_count"
POINTS = ("PreBind", "Bind", "PostBind")
PLUGIN = "scheduler_plugin_execution_duration_seconds_count"

TIDY = """
from stowplan.framework.contract import PostBind, PreBind

class Tidy(PreBind, PostBind):
    async def pre_bind(self, pod, node_name):
        return None

    async def post_bind(self, pod, node_name):
        return None
"""
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: .stowplan/kubeconfig}
profiles:
- plugins: {multiPoint: {enabled: [{name: "tidy.py:Tidy"}]}}
  pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 1}}]
"""


@contextmanager
def by_up(folder: Path) -> Iterator[tuple[Up, str]]:
    """Have `up` schedule; give it and the address of its metrics."""
    with running(folder, "--nodes", "1", "--without", "provisioner", "--config", "config.yaml") as up:
        yield up, f"{up.scheduler}/metrics"


@contextmanager
def by_run(folder: Path) -> Iterator[tuple[Up, str]]:
    """Have `run` schedule on a cluster of `up` that has no scheduler."""
    port = free_port()
    flags = ("--bind-address=127.0.0.1", f"--secure-port={port}", "--authorization-always-allow-paths=/metrics")
    with running(folder, "--nodes", "1", "--without", "provisioner", "--without", "scheduler") as up:
        command = [*PROGRAM, "run", "--config=config.yaml", *flags]
        process = subprocess.Popen(command, cwd=folder, env=environment(), stderr=subprocess.DEVNULL)
        try:
            yield up, f"https://127.0.0.1:{port}/metrics"
        finally:
            process.kill()
            process.wait()


def read(address: str) -> dict[str, float]:
    """Read the metrics: values by name and labels."""
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    secure = unverified if address.startswith("https") else None
    with urllib.request.urlopen(address, timeout=LIMIT_SECONDS, context=secure) as answer:
        lines = answer.read().decode().splitlines()
    parted = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in parted}


def until_counted(up: Up, address: str, *names: str) -> None:
    """Wait until each of these has been counted."""
    up.until(lambda: all(read(address).get(name, 0) >= 1 for name in names))


def create(up: Up, collection: str, name: str, spec: dict[str, Any], **fields: Any) -> None:
    code, made = up.send("POST", collection, {"metadata": {"name": name}, "spec": spec, **fields})
    assert code == 201, made


def create_pod(up: Up, name: str, requests: dict[str, str] | None = None, **spec: Any) -> None:
    resources = {"requests": requests or {}, "limits": requests or {}}
    create(up, PODS, name, {"containers": [{"name": "main", "image": "app:1", "resources": resources}], **spec})


def offer(up: Up, *devices: dict[str, Any]) -> None:
    """Have devices of a class on the node, which also serve an extended resource."""
    node = up.get("/api/v1/nodes")["items"][0]["metadata"]["name"]
    create(up, f"{DEVICES}/deviceclasses", "gpu", {"extendedResourceName": "example.com/gpu"})
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    offered = {"driver": DRIVER, "pool": pool, "nodeName": node, "devices": list(devices)}
    create(up, f"{DEVICES}/resourceslices", "gpus", offered)


@pytest.fixture(scope="module", params=[by_up, by_run], ids=["up", "run"])
def scheduled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Up, str]]:
    folder = tmp_path_factory.mktemp("metrics")
    (folder / "tidy.py").write_text(TIDY)
    (folder / "config.yaml").write_text(CONFIG)
    with request.param(folder) as (up, address):
        yield up, address


def test_what_happens_on_the_way_to_a_node_is_measured(scheduled: tuple[Up, str]) -> None:
    up, address = scheduled
    create_pod(up, "plain")
    up.until(lambda: bool(up.node_of("plain")))
    profile = 'profile="default-scheduler",status="Success"'
    until_counted(up, address, *(f'{POINT}{{extension_point="{at}",{profile}}}' for at in POINTS))
    ends = [("PreBind", "Tidy"), ("Bind", "DefaultBinder"), ("PostBind", "Tidy")]
    until_counted(
        up, address, *(f'{PLUGIN}{{extension_point="{at}",plugin="{who}",status="Success"}}' for at, who in ends)
    )


def test_what_becomes_of_volumes_and_devices_is_counted(scheduled: tuple[Up, str]) -> None:
    up, address = scheduled
    offer(up, {"name": "slow", "bindsToNode": True, "bindingConditions": ["example.com/ready"]}, {"name": "quick"})
    asks = [{"name": "one", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}]
    create(up, DEVICE_CLAIMS, "both", {"devices": {"requests": asks}})
    create_pod(up, "waits", resourceClaims=[{"name": "gpu", "resourceClaimName": "both"}])
    until_ready(up, "both")
    up.until(lambda: bool(up.node_of("waits")))
    labels = f'{{driver="{DRIVER}",profile="default-scheduler",status="success"}}'
    until_counted(up, address, f"scheduler_dra_bindingconditions_allocations_total{labels}")
    # Both devices are timed; only one had to be made ready.
    assert read(address)[f"{WAIT}_count{labels}"] == 2

    up.send("DELETE", f"{PODS}/waits", None)
    create_pod(up, "served", {"example.com/gpu": "2"})
    labels = 'admin_access="false",owner_api_group="",owner_api_kind="Pod",status="success"'
    until_counted(up, address, f"dynamic_resource_allocation_resourceclaim_creates_total{{{labels}}}")

    class_ = {"provisioner": "disks.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    up.send("POST", CLASSES, {"metadata": {"name": "slow"}, **class_})
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    create(up, CLAIMS, "data", {**wanted, "storageClassName": "slow"})
    create_pod(up, "stores", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    name = 'scheduler_volume_scheduling_stage_error_total{operation="bind"}'
    up.until(lambda: read(address).get(name, 0) >= 1)


def until_ready(up: Up, claim: str) -> None:
    """Play the driver: wait until devices were given, and report the slow one ready."""
    path = f"{DEVICE_CLAIMS}/{claim}"
    up.until(lambda: "allocation" in up.get(path).get("status", {}))
    found = up.get(path)
    node = found["status"]["allocation"]["devices"]["results"][0]["pool"]
    condition = {
        "type": "example.com/ready",
        "status": "True",
        "reason": "Ready",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    found["status"]["devices"] = [{"driver": DRIVER, "pool": node, "device": "slow", "conditions": [condition]}]
    code, answer = up.send("PUT", f"{path}/status", found)
    assert code == 200, answer
