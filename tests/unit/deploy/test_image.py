"""The image: what it is made from, who it runs as, and the name that manifests of kube-scheduler start."""

import json
import re
import subprocess
import sys
from fnmatch import fnmatch

import pytest

from stowplan import __version__
from tests.limits import LIMIT_SECONDS
from tests.unit.deploy.manifests import DEPLOY, ROOT, the
from tools.image.debian import ARCHITECTURES, locked, purl
from tools.image.leanness import is_left_out

DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
CONFIG = json.loads((DEPLOY / "image" / "config.json").read_text(encoding="utf-8"))
SITE = "usr/local/lib/python3.11/dist-packages"


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.+)$", DOCKERFILE, re.MULTILINE)


def test_docker_adds_nothing_to_the_root() -> None:
    assert instructions("FROM") == ["--platform=$BUILDPLATFORM debian:bookworm-slim AS build", "scratch"]
    assert instructions("COPY") == ["dist/stowplan-*.tar.gz /build/", "--from=build /root-of-image /"]
    (made,) = (line for line in instructions("RUN") if "image-root" in line)
    assert made.endswith('"ARCHES=$TARGETARCH"')


def test_docker_and_the_archive_say_the_same_of_how_it_is_started() -> None:
    assert instructions("USER") == [CONFIG["User"]]
    assert [json.loads(line) for line in instructions("ENTRYPOINT")] == [CONFIG["Entrypoint"]]
    assert [json.loads(line) for line in instructions("CMD")] == [CONFIG["Cmd"]]
    assert instructions("ENV") == [" ".join(CONFIG["Env"])]
    assert [f"{port}/tcp" for port in instructions("EXPOSE")] == list(CONFIG["ExposedPorts"])


def test_it_runs_as_the_user_that_the_deployment_says() -> None:
    context = the("Deployment")["spec"]["template"]["spec"]["securityContext"]
    assert CONFIG["User"] == f"{context['runAsUser']}:{context['runAsGroup']}" == "65532:65532"


def test_docker_is_given_the_source_archive_alone() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert [line for line in ignored if not line.startswith("#")] == ["*", "!dist/stowplan-*.tar.gz"]
    assert fnmatch(f"dist/stowplan-{__version__}.tar.gz", "dist/stowplan-*.tar.gz")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_package_is_locked_for_every_architecture(architecture: str) -> None:
    lines = (DEPLOY / "image" / "packages").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    found = locked(architecture)
    assert [package.name for package in found] == wanted == sorted(wanted)
    assert all(re.fullmatch(r"[0-9a-f]{64}", package.sha256) for package in found)


def test_a_package_has_the_address_that_scanners_know() -> None:
    (zlib,) = (package for package in locked("arm64") if package.name == "zlib1g")
    assert purl(zlib).startswith("pkg:deb/debian/zlib1g@1%3A1.2.13")
    assert purl(zlib).endswith("?arch=arm64&distro=bookworm")


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        pytest.param(f"{SITE}/stowplan/embedded/server.py", True, id="the API server"),
        pytest.param(f"{SITE}/stowplan/local/pages.py", True, id="the cluster in one process"),
        pytest.param(f"{SITE}/stowplan/engine/scheduler.py", False, id="the scheduler"),
        pytest.param(f"{SITE}/stowplan/web/static/page.js", False, id="the page"),
        pytest.param(f"{SITE}/numpy/lib/tests/test_io.py", True, id="tests of a library"),
        pytest.param(f"{SITE}/numpy/lib/_io_impl.py", False, id="a library"),
        pytest.param(f"{SITE}/numpy-2.4.6.dist-info/licenses/LICENSE.txt", False, id="the licence of a library"),
        pytest.param("usr/share/doc/libc6/copyright", False, id="the licence of a package"),
        pytest.param("usr/share/doc/libc6/changelog.gz", True, id="documentation"),
        pytest.param("usr/lib/python3.11/test/support/__init__.py", True, id="tests of Python"),
        pytest.param("usr/lib/python3.11/asyncio/events.py", False, id="Python"),
    ],
)
def test_what_is_left_out(name: str, left_out: bool) -> None:
    assert is_left_out(name) is left_out


def test_docker_is_shown_in_the_guide_with_the_version_there_is() -> None:
    assert f"--tag stowplan:{__version__} " in DOCKERFILE


def test_started_as_kube_scheduler_it_takes_its_flags() -> None:
    command = [sys.executable, str(DEPLOY / "kube-scheduler"), "--version"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert answer.stdout == f"Kubernetes v1.37.1-stowplan.{__version__}\n"
    # The image has no shell, and no `env`.
    assert (DEPLOY / "kube-scheduler").read_text(encoding="utf-8").startswith("#!/usr/bin/python3.11\n")


def test_the_guide_names_files_that_exist() -> None:
    guide = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\bdeploy/[\w./-]*\w", guide))
    assert len(named) >= 3
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
