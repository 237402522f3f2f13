"""The beginning of a plugin: a folder with a class that works, its tests, a configuration and a package to publish.

`skeleton_points` has what differs from one extension point to another.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from stowplan import framework
from stowplan.testing.skeleton_points import POINTS

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*")


class SkeletonError(ValueError):
    """A skeleton cannot be made; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class SkeletonNames:
    """What a plugin called `zone-affinity` is called where: its folder, its package, its class."""

    folder: str
    package: str
    cls: str


def names_of(name: str, taken: Collection[str] = ()) -> SkeletonNames:
    """Return the names that follow from one, however it is written; `taken` are classes that there are already."""
    if not _NAME.fullmatch(name):
        remedy = "letters and digits, the first a letter, words joined by -, such as zone-affinity"
        raise SkeletonError(f"{name!r} cannot be the name of a plugin: write {remedy}")
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", name).replace("_", "-").split("-")
    cls = "".join(word[0].upper() + word[1:] for word in words)
    package = "_".join(words).lower()
    # A package of a name that is installed would hide it from its own tests, and could not be loaded beside it.
    if keyword.iskeyword(package) or package in ("src", "tests") or find_spec(package) is not None:
        raise SkeletonError(f"{name!r} cannot be the name of a plugin: Python has {package!r} already; add a word")
    if cls in framework.__all__:
        raise SkeletonError(f"{name!r} cannot be the name of a plugin: the contract has {cls!r} already; add a word")
    if cls in taken:
        raise SkeletonError(f"{name!r} cannot be the name of a plugin: there is a plugin {cls!r} already; add a word")
    return SkeletonNames("-".join(words).lower(), package, cls)


def write(names: SkeletonNames, point: str, folder: Path) -> list[Path]:
    """Write the files of a skeleton into a folder that is not there yet, or empty; return what was written."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SkeletonError(f"{folder} is there already; name another folder with --folder, or remove it")
    written = []
    for path, text in files(names, point).items():
        file = folder / path
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise SkeletonError(f"{file}: cannot be written: {error.strerror}; name another with --folder") from None
        written.append(file)
    return written


def files(names: SkeletonNames, point: str) -> dict[str, str]:
    """Return the files of a skeleton by path."""
    skeleton = POINTS[point]
    values = {
        "CLASS": names.cls,
        "PACKAGE": names.package,
        "FOLDER": names.folder,
        "INHERITS": skeleton.inherits,
        "USES": ", ".join(sorted(skeleton.uses, key=lambda one: (not one.isupper(), one.islower(), one))),
        "RULE": skeleton.rule,
        "BODY\n": skeleton.body,
        "TESTS\n": skeleton.test,
        "IMPORTS": "import asyncio\n" if "asyncio" in skeleton.test else "",
        "MAKES": _imports(skeleton.test),
        "ENABLED\n": _QUEUE_SORT if skeleton.enabled_at == "queueSort" else _MULTI_POINT,
    }
    return {_filled(path, values): _filled(text, values) for path, text in _FILES.items()}


def _imports(test: str) -> str:
    return ", ".join(("check_plugin", *(("make_node",) if "make_node" in test else ()), "make_pod"))


def _filled(text: str, values: dict[str, str]) -> str:
    # What is filled in may have names of its own to fill in; class and package come last.
    for key in reversed(values):
        text = text.replace(key, values[key])
    return text


_MULTI_POINT: Final = """      multiPoint:
        enabled:
          - name: src/PACKAGE/plugin.py:CLASS
"""
_QUEUE_SORT: Final = """      queueSort:
        disabled:
          - name: PrioritySort
        enabled:
          - name: src/PACKAGE/plugin.py:CLASS
"""

_FILES: Final = {
    "src/PACKAGE/__init__.py": '"""CLASS, a plugin for the scheduler Stowplan; `plugin` has it."""\n',
    "src/PACKAGE/plugin.py": '''"""RULE"""

from stowplan.framework import USES


class CLASS(INHERITS):
    """RULE"""

BODY
''',
    "tests/test_plugin.py": '''"""What CLASS does, by itself and in a cluster."""

IMPORTSfrom pathlib import Path

from stowplan import Cluster
from stowplan.testing import MAKES

from PACKAGE.plugin import CLASS

ROOT = Path(__file__).resolve().parents[1]
POD = make_pod("web").requests(cpu="100m")


def make_cluster():
    """Return a cluster without nodes that schedules as config.yaml says."""
    text = (ROOT / "config.yaml").read_text(encoding="utf-8")
    return Cluster(text.replace("src/", f"{ROOT}/src/"))


def test_it_keeps_the_contract():
    check_plugin(CLASS())


def test_the_configuration_enables_it():
    profile = make_cluster().profiles["default-scheduler"]
    assert [plugin.name for plugin in profile.foreign] == ["CLASS"]


TESTS
''',
    "config.yaml": """# stowplan up --config config.yaml --reload
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    plugins:
ENABLED
""",
    "pod.yaml": """apiVersion: v1
kind: Pod
metadata:
  name: web
  labels:
    team: red
spec:
  containers:
    - name: web
      image: web
      resources:
        requests:
          cpu: 100m
""",
    "pyproject.toml": """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "FOLDER"
version = "0.1.0"
description = "RULE"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["stowplan"]

# Where Stowplan finds it once it is installed: configurations name it CLASS then.
[project.entry-points."stowplan.plugins"]
CLASS = "PACKAGE.plugin:CLASS"

[tool.hatch.build.targets.wheel]
packages = ["src/PACKAGE"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["src"]
""",
    "README.md": """# FOLDER

RULE

    pytest                                        # its tests
    stowplan plugin check src/PACKAGE/plugin.py:CLASS
    stowplan up --once --config config.yaml pod.yaml
    stowplan up --config config.yaml --reload     # edit src/PACKAGE/plugin.py, save, and it is in force
""",
}
