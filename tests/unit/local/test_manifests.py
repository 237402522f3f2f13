"""Manifests from files, folders and the standard input."""

import io
from pathlib import Path

import pytest

from stowplan.app.configuration import SourceError
from stowplan.local import manifests
from stowplan.local.manifests import ManifestError


def named(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_what_others_need_comes_first_and_the_rest_keeps_its_order(tmp_path: Path) -> None:
    text = "\n---\n".join(
        f"{{apiVersion: v1, kind: {kind}, metadata: {{name: {name}}}}}"
        for kind, name in (
            ("Pod", "p1"),
            ("Node", "n"),
            ("Service", "s"),
            ("PriorityClass", "c"),
            ("Namespace", "ns"),
            ("Pod", "p2"),
            ("CustomResourceDefinition", "crd"),
        )
    )
    found = manifests.read([named(tmp_path / "a.yaml", text)])
    assert [one.content["metadata"]["name"] for one in found] == ["crd", "ns", "c", "n", "p1", "s", "p2"]


def test_a_folder_stands_for_its_manifests_by_name(tmp_path: Path) -> None:
    inner = tmp_path / "b"
    inner.mkdir()
    named(tmp_path / "c.yml", "{apiVersion: v1, kind: Pod, metadata: {name: last}}")
    named(inner / "x.json", '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "second"}}')
    named(tmp_path / "a.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: first}}")
    named(tmp_path / "readme.md", "not a manifest")
    found = manifests.read([str(tmp_path)])
    assert [one.content["metadata"]["name"] for one in found] == ["first", "second", "last"]


def test_lists_are_taken_apart(tmp_path: Path) -> None:
    text = "{apiVersion: v1, kind: PodList, items: [{metadata: {name: a}}, {metadata: {name: b}}]}"
    found = manifests.read([named(tmp_path / "list.yaml", text)])
    assert [(one.kind, one.content["metadata"]["name"]) for one in found] == [("Pod", "a"), ("Pod", "b")]


def test_the_standard_input_is_read_where_a_dash_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}}"))
    (found,) = manifests.read(["-"])
    assert found.title == "-: Pod shop/a"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("[1, 2]", "expected objects, got list", id="a list of numbers"),
        pytest.param("{kind: Pod}", "an object has no apiVersion", id="no apiVersion"),
        pytest.param("{apiVersion: v1}", "an object has no kind", id="no kind"),
        pytest.param("{apiVersion: v1, kind: Pod, metadata: 3}", "Pod: metadata: expected an object", id="metadata"),
        pytest.param("a: b: c", "not a YAML document", id="no YAML"),
    ],
)
def test_what_cannot_be_used_is_refused_by_file(tmp_path: Path, text: str, problem: str) -> None:
    path = named(tmp_path / "bad.yaml", text)
    with pytest.raises(ManifestError, match=problem) as refused:
        manifests.read([path])
    assert str(refused.value).startswith(f"{path}: ")


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(SourceError, match=r"^nowhere\.yaml: cannot be read: No such file or directory"):
        manifests.read(["nowhere.yaml"])


def test_a_folder_without_manifests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"no file there ends in \.yaml, \.yml, \.json; name a file"):
        manifests.read([str(tmp_path)])


def test_a_key_that_is_there_twice_is_told_with_its_file_and_line(tmp_path: Path) -> None:
    path = named(tmp_path / "twice.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nmetadata: {name: b}\n")
    with pytest.raises(ManifestError) as refused:
        manifests.read([path])
    assert str(refused.value) == f'{path}: line 4: key "metadata" already set in map; write it once'
