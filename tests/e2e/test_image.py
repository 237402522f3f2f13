"""The image is started: unpacked from its archive, with a read-only root, as user 65532, against a real API server."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import yaml

from stowplan import __version__
from tests.e2e.errands import runs
from tests.e2e.image import ARCHIVE, Image
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node, pod
from tests.e2e.plane import Plane
from tests.e2e.processes import Process, answers_ok, free_port
from tests.e2e.scheduler_process import USER

MEGABYTE = 1_000_000
#: Tries to write where nobody may, and where somebody has to; imports what takes libraries of the system.
LOOK_AROUND = """\
import ctypes, errno, os, ssl, sys, importlib.util
import numpy.linalg, uvloop, yaml, cryptography.x509, kubernetes_asyncio.config.kube_config
for place in ("/", "/usr/local/bin", "/etc/stowplan", "/home/nonroot"):
    try:
        open(f"{place}/new", "w")
    except OSError as error:
        print(place, errno.errorcode[error.errno])
open(os.path.join("/tmp", "new"), "w").close()
print(os.getuid(), os.getgid(), os.getgroups())
print([name for name in ("embedded", "local") if importlib.util.find_spec(f"stowplan.{name}")])
print([name for name in ("/bin/sh", "/usr/bin/pip", "/usr/bin/apt") if os.path.exists(name)])
print(ssl.create_default_context().cert_store_stats()["x509_ca"] > 100)
print(numpy.linalg.solve([[2.0]], [4.0]))
"""


Say = Callable[[str], None]


@pytest.fixture
def say(pytestconfig: pytest.Config) -> Say:
    """Print what was measured; nothing here is judged by the clock."""
    return pytestconfig.get_terminal_writer().line


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    if not ARCHIVE.exists():
        pytest.fail(f"there is no {ARCHIVE.name} in dist; `make image` makes it, and `make e2e` runs that")
    image = Image(ARCHIVE, tmp_path_factory.mktemp("image"))
    try:
        image.run("--version")
    except AssertionError as error:
        if "unshare" in str(error):
            pytest.skip("the image cannot be started: this machine lets nobody but root have namespaces of their own")
        raise
    return image


def test_it_is_small(image: Image, say: Say) -> None:
    say(f"image: {image.size() / MEGABYTE:.1f} MB in files, {ARCHIVE.stat().st_size / MEGABYTE:.1f} MB packed")
    assert 50 * MEGABYTE < image.size() < 150 * MEGABYTE


def test_it_answers_at_once(image: Image, say: Say) -> None:
    started = time.monotonic()
    assert image.run("--version").startswith(f"stowplan {__version__}, ")
    say(f"image: --version in {time.monotonic() - started:.2f} s")
    assert yaml.safe_load(image.run("config", "show"))["kind"] == "KubeSchedulerConfiguration"
    kube_scheduler = image.run("--version", program=["kube-scheduler"])
    assert kube_scheduler.endswith(f"-stowplan.{__version__}\n")


def test_it_is_nobody_and_writes_nowhere(image: Image) -> None:
    found = image.run("-c", LOOK_AROUND, program=["python3"])
    assert found.splitlines() == [
        "/ EROFS",
        "/usr/local/bin EROFS",
        # A mount of its own: who may write there is up to who mounts it.
        "/etc/stowplan EACCES",
        "/home/nonroot EROFS",
        "65532 65532 []",
        "[]",
        "[]",
        "True",
        "[2.]",
    ]


def test_what_needs_the_api_server_says_so(image: Image) -> None:
    with pytest.raises(AssertionError, match="is left out of this installation"):
        image.run("up")


def test_it_schedules(plane: Plane, kubelets: Kubelets, namespace: str, image: Image) -> None:
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": give_kubeconfig(plane, image)},
        "leaderElection": {"leaderElect": False},
    }
    (image.settings / "config.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
    kubelets.register([node("only")])
    plane.api.create(pod(namespace, "web"))
    port = free_port()
    (default,) = image.config["config"]["Cmd"]
    flags = ("--config=/etc/stowplan/config.yaml", "--bind-address=127.0.0.1", f"--secure-port={port}")
    process = Process(image.command(default, *flags), plane.folder / "image.log")
    started = time.monotonic()
    with running(process):
        for path in ("healthz", "readyz"):
            process.wait_until(partial(answers_ok, f"https://127.0.0.1:{port}/{path}"))
            plane.timings[f"image to /{path}"] = time.monotonic() - started
        process.wait_until(lambda: runs(plane.api.get(f"/api/v1/namespaces/{namespace}/pods/web")))


def test_it_takes_the_place_of_kube_scheduler(plane: Plane, kubelets: Kubelets, namespace: str, image: Image) -> None:
    kubeconfig = give_kubeconfig(plane, image)
    kubelets.register([node("only")])
    plane.api.create(pod(namespace, "web"))
    flags = (
        *(f"--{name}kubeconfig={kubeconfig}" for name in ("", "authentication-", "authorization-")),
        "--bind-address=127.0.0.1",
        "--leader-elect=true",
        f"--secure-port={free_port()}",
    )
    process = Process(image.command(*flags, program=["kube-scheduler"]), plane.folder / "image-in-place.log")
    with running(process):
        process.wait_until(lambda: runs(plane.api.get(f"/api/v1/namespaces/{namespace}/pods/web")))
        assert process.stop() == 0


def give_kubeconfig(plane: Plane, image: Image) -> str:
    """Put a kubeconfig with all certificates in it where the image sees it, and return its path there."""
    text = plane.kubectl("config", "view", "--raw", "--flatten", kubeconfig=plane.user_kubeconfig(USER))
    path = Path(image.settings / "scheduler.conf")
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)
    return "/etc/stowplan/scheduler.conf"


@contextmanager
def running(process: Process) -> Iterator[None]:
    process.start()
    try:
        yield
    finally:
        process.stop()
