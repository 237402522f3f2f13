"""Which kubeconfig is meant if none is named, and which namespace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from stowplan.kube import kubeconfig_choice


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def put(path: Path, content: object = None) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return str(path)


def test_the_cluster_of_this_folder_comes_first_then_the_environment_then_the_home(tmp_path: Path, home: Path) -> None:
    assert kubeconfig_choice.usual({}) == ""
    at_home = put(home / ".kube" / "config")
    assert kubeconfig_choice.usual({}) == at_home
    assert kubeconfig_choice.usual({"KUBECONFIG": "a:b"}) == "a:b"
    put(tmp_path / ".stowplan" / "kubeconfig")
    assert kubeconfig_choice.usual({"KUBECONFIG": "a:b"}) == os.path.join(".stowplan", "kubeconfig")


def test_kubectl_does_not_look_into_this_folder(tmp_path: Path, home: Path) -> None:
    put(tmp_path / ".stowplan" / "kubeconfig")
    assert kubeconfig_choice.of_kubectl({}) == ""
    assert kubeconfig_choice.of_kubectl({"KUBECONFIG": "a:b"}) == "a:b"


def test_one_of_several_files_is_enough(tmp_path: Path) -> None:
    found = put(tmp_path / "b")
    assert kubeconfig_choice.is_there(f"a:{found}")
    assert not kubeconfig_choice.is_there("a:c")


def test_the_namespace_is_that_of_the_context_as_kubectl_merges_files(tmp_path: Path) -> None:
    first = put(tmp_path / "a", {"current-context": "x", "contexts": [{"name": "x", "context": {"namespace": "shop"}}]})
    more = {"current-context": "y", "contexts": [{"name": "x", "context": {}}, {"name": "y", "context": {}}]}
    second = put(tmp_path / "b", more)
    assert kubeconfig_choice.namespace_of(f"{first}:{second}") == "shop"
    assert kubeconfig_choice.namespace_of(f"{second}:{first}", "x") == ""
    assert kubeconfig_choice.namespace_of(first, "x") == "shop"
    assert kubeconfig_choice.namespace_of(first, "none") == ""
    assert kubeconfig_choice.namespace_of("gone") == ""
