"""Every object that the documentation shows is one that an API server, or the scheduler, takes to the letter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from stowplan.cli import main
from stowplan.config import feature_gates
from stowplan.config.schema import GROUP, KIND, VERSION
from stowplan.local import file_cluster
from stowplan.local.manifests import Manifest
from stowplan.serving.certificates import self_signed
from tests.documentation.blocks import ROOT, Block, of_language
from tests.documentation.elsewhere import PAGES

BLOCKS = [block for block in of_language("yaml", "json") if (block.page, block.language) not in PAGES]
OURS = f"{GROUP}/{VERSION}"
#: Pages show what needs a gate, too.
EVERYTHING = feature_gates.parse("AllAlpha=true,AllBeta=true")
#: What an API server of ours has no types of is only read as YAML.
FOREIGN = ("kustomize.config.k8s.io", "monitoring.coreos.com")


def documents(block: Block) -> list[Any]:
    if block.language == "json":
        return [json.loads(block.text)]
    return [one for one in yaml.safe_load_all(block.text) if one is not None]


def configurations() -> Iterator[Any]:
    for block in BLOCKS:
        for found in documents(block):
            if isinstance(found, dict) and (found.get("kind") == KIND or "profiles" in found):
                yield pytest.param({"apiVersion": OURS, "kind": KIND, **found}, id=block.place)


def objects() -> Iterator[Any]:
    for block in BLOCKS:
        for number, found in enumerate(documents(block)):
            is_object = isinstance(found, dict) and {"apiVersion", "kind"} <= found.keys() and found["kind"] != KIND
            if is_object and not found["apiVersion"].startswith(FOREIGN):
                yield pytest.param(found, id=f"{block.place}-{number}")


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_a_block_of_data_can_be_read(block: Block) -> None:
    assert documents(block)


@pytest.mark.parametrize("configuration", list(configurations()))
def test_a_configuration_is_taken(configuration: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "plugins").mkdir()
    # The one that the page about configurations shows, with arguments.
    shown = [one.text for one in of_language("python") if one.page == "docs/configuration.md"]
    (tmp_path / "plugins" / "cool.py").write_text("\n".join(shown), encoding="utf-8")
    certificate, key = self_signed()
    for name in ("ca.pem", "client.pem", "client-key.pem"):
        (tmp_path / name).write_bytes(key if "key" in name else certificate)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["config", "check", "-"], input=yaml.safe_dump(configuration))
    assert result.exit_code == 0, result.output
    # A line more would be a note about what has no effect.
    assert re.fullmatch(r"OK: -; profiles: .+\n", result.output)


@pytest.mark.parametrize("found", list(objects()))
def test_an_object_is_taken_by_an_api_server(found: Any) -> None:
    metadata = found.get("metadata", {})
    manifests = [Manifest("the page", found)]
    if "namespace" in metadata:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": metadata["namespace"]}}
        manifests.insert(0, Manifest("the test", namespace))
    read = file_cluster.make(manifests, EVERYTHING)
    assert read.api is not None
    resource = read.api.catalogue.of_kind(found["apiVersion"], found["kind"])
    assert resource is not None
    assert metadata["name"] in {one.object["metadata"]["name"] for one in read.api.store.list(resource)}
