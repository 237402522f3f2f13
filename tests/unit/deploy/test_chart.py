"""The chart, as far as can be seen without Helm: copies, values, schema and page agree; end-to-end tests render it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from stowplan import __version__
from stowplan.app.cluster import Cluster
from stowplan.app.configuration import read_configuration
from tests.unit.deploy.manifests import BASE, DEPLOY, OVERLAYS, ROOT, container, read, the
from tools import generate_chart
from tools.generate_chart import CHART, COPIES

SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
VALUES = read(CHART / "values.yaml")[0]
PAGE = (ROOT / "docs" / "chart.md").read_text(encoding="utf-8")
TYPES = {"string": str, "boolean": bool, "integer": int, "object": dict, "array": list, "null": type(None)}


def objects_of(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a schema and all below it that list what an object may have."""
    below = [found for part in schema.get("properties", {}).values() for found in objects_of(part)]
    return [schema, *below] if "properties" in schema else below


@pytest.mark.parametrize("name", COPIES)
def test_what_the_chart_has_from_elsewhere_is_the_same(name: str) -> None:
    copy, source = CHART / "files" / name, ROOT / COPIES[name]
    assert copy.read_text(encoding="utf-8") == source.read_text(encoding="utf-8"), "run `make chart`"


def test_every_copy_is_used_by_a_template_and_nothing_else_lies_about() -> None:
    assert {path.name for path in (CHART / "files").iterdir()} == {*COPIES, "README.md"}
    templates = "".join(path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir())
    named = set(re.findall(r'"files/([\w.-]+)"', templates))
    # Those of the modes are found by the name of the mode.
    modes = {f"{mode}.yaml" for mode in SCHEMA["properties"]["mode"]["enum"]}
    assert '"files/%s.yaml" .Values.mode' in templates
    assert named | modes == set(COPIES)


def test_permissions_are_taken_over_and_not_written_again() -> None:
    for name, kind in (("cluster-role.yaml", "ClusterRole"), ("role.yaml", "Role")):
        template = (CHART / "templates" / name).read_text(encoding="utf-8")
        assert "$base.rules" in template
        # What a template cuts off is the binding.
        first = (CHART / "files" / name).read_text(encoding="utf-8").split("\n---\n")[0]
        assert yaml.safe_load(first)["rules"] == the(kind)["rules"]
    granted = re.findall(r"verbs: (.+)", (CHART / "templates" / "cluster-role.yaml").read_text(encoding="utf-8"))
    # To read the page, for people; nothing for the scheduler.
    assert granted == ["[get, post]"]


def test_the_default_configurations_are_those_of_the_overlays() -> None:
    sources = {mode: ROOT / COPIES[f"{mode}.yaml"] for mode in ("second-scheduler", "replacement")}
    assert sources == {
        "second-scheduler": OVERLAYS / "second-scheduler" / "config.yaml",
        "replacement": BASE / "config.yaml",
    }
    assert VALUES["config"] == {}


def test_the_schema_and_the_values_have_the_same_names() -> None:
    def compare(schema: dict[str, Any], values: dict[str, Any], path: str) -> None:
        names = schema["properties"].keys() - {"global"}
        assert names == values.keys(), path
        for name in names:
            part = schema["properties"][name]
            if "description" not in part:
                compare(part, values[name], f"{path}.{name}")

    compare(SCHEMA, VALUES, "values")


def test_every_default_is_of_a_type_that_the_schema_takes() -> None:
    def declared(schema: dict[str, Any], path: str) -> dict[str, Any]:
        for name in path.split("."):
            schema = schema["properties"][name]
        return schema

    for path, default, _ in generate_chart.leaves(SCHEMA, VALUES):
        part = declared(SCHEMA, path)
        kinds = [part["type"]] if isinstance(part["type"], str) else part["type"]
        assert type(default) in [TYPES[kind] for kind in kinds], path
        assert default in part.get("enum", [default]), path
        if isinstance(default, str) and "pattern" in part:
            assert re.search(part["pattern"], default), path


def test_no_value_is_taken_that_is_not_known() -> None:
    free = [part for part in objects_of(SCHEMA) if part.get("additionalProperties") is not False]
    # A KubeSchedulerConfiguration is read by the scheduler, which is strict, too.
    assert free == [SCHEMA["properties"]["config"]]


def test_every_value_is_used_by_a_template() -> None:
    templates = "".join(path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir())
    paths = [path for path, _, _ in generate_chart.leaves(SCHEMA, VALUES)]
    # `extraPlugins.image` has a name of its own in the Deployment.
    spelled = {path: path.replace("extraPlugins.image.", "$plugins.") for path in paths}
    used = {path for path, text in spelled.items() if f".Values.{path}" in templates or text in templates}
    assert [path for path in paths if path not in used] == []


def test_what_does_not_depend_on_values_is_as_in_the_base() -> None:
    assert VALUES["replicas"] == the("Deployment")["spec"]["replicas"]
    assert VALUES["resources"] == container()["resources"]
    assert f"{VALUES['image']['repository']}:{__version__}" == container()["image"]
    (chart,) = read(CHART / "Chart.yaml")
    assert (chart["version"], chart["appVersion"], chart["name"]) == (__version__, __version__, "stowplan")


def test_the_page_has_the_table_of_the_values() -> None:
    assert generate_chart.with_table(PAGE) == PAGE, "run `make chart`"


def test_the_example_of_the_page_is_a_configuration_with_a_plugin(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(config:.+?)```", PAGE, re.DOTALL)
    values = yaml.safe_load(text)
    for name, code in values["extraPlugins"]["files"].items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    config = yaml.safe_dump(values["config"]).replace("/etc/stowplan/plugins", str(tmp_path))
    (profile,) = Cluster(read_configuration(config)).profiles.values()
    assert "Cool" in {type(plugin).__name__ for plugin, _ in profile.score}


def test_what_the_page_names_is_there() -> None:
    assert (DEPLOY / "chart" / "stowplan" / "Chart.yaml").is_file()
    assert "helm install stowplan deploy/chart/stowplan " in PAGE
