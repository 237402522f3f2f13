"""The image: what it is made from, who it runs as, and the name that manifests of kube-scheduler start."""

import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

from stowplan import __version__
from tests.limits import LIMIT_SECONDS
from tests.unit.deploy.manifests import DEPLOY, ROOT, the

DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.+)$", DOCKERFILE, re.MULTILINE)


def sources() -> list[str]:
    """List what is copied from the repository."""
    copies = [line.split() for line in instructions("COPY") if "--from" not in line]
    return [word for words in copies for word in words[:-1] if not word.startswith("--")]


def test_both_stages_have_the_same_python_from_wherever_the_builder_gets_its_images() -> None:
    assert instructions("FROM") == ["python:3.11-slim AS build", "python:3.11-slim"]


def test_it_runs_as_the_user_that_the_deployment_says() -> None:
    context = the("Deployment")["spec"]["template"]["spec"]["securityContext"]
    assert instructions("USER") == [f"{context['runAsUser']}:{context['runAsGroup']}"]


def test_what_is_copied_exists_and_is_not_left_out() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    kept = [line.removeprefix("!") for line in ignored if line.startswith("!")]
    assert "*" in ignored
    built_from = ["pyproject.toml", "uv.lock", "LICENSE", "README.md", "hatch_build.py", "src"]
    assert sources() == [*built_from, "deploy/kube-scheduler"]
    assert [name for name in sources() if not (ROOT / name).exists()] == []
    assert [name for name in sources() if not any(fnmatch(name, pattern) for pattern in kept)] == []


def test_it_holds_no_api_server() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    left_out = ["src/stowplan/embedded", "src/stowplan/local"]
    assert [path for path in left_out if not (ROOT / path).is_dir()] == []
    # The last pattern that fits decides.
    assert [path for path in left_out if path in ignored[ignored.index("!src") :]] == left_out


def test_it_is_built_with_the_tool_that_the_makefile_pins() -> None:
    (pinned,) = re.findall(r"^UV_VERSION := (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert f"uv=={pinned}" in DOCKERFILE
    assert f"--tag stowplan:{__version__} " in DOCKERFILE


def test_started_as_kube_scheduler_it_takes_its_flags() -> None:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.defpath))
    command = [str(DEPLOY / "kube-scheduler"), "--version"]
    answer = subprocess.run(
        command, env={"PATH": path}, check=True, capture_output=True, text=True, timeout=LIMIT_SECONDS
    )
    assert answer.stdout == f"Kubernetes v1.37.1-stowplan.{__version__}\n"


def test_the_guide_names_files_that_exist() -> None:
    guide = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\bdeploy/[\w./-]*\w", guide))
    assert len(named) >= 3
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
