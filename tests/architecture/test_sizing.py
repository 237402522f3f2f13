"""The figures of the page on sizing are measured ones: those of the performance page, which is made from the runs."""

import re

import yaml

from tests.architecture.source_tree import ROOT

SIZING = (ROOT / "docs" / "sizing.md").read_text(encoding="utf-8")
PERFORMANCE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    return SIZING.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_every_measured_figure_is_one_of_the_performance_page() -> None:
    figures = re.findall(r"\| ([\d.,]+) (?:MiB|s|ms) \|$", section("Measured"), re.MULTILINE)
    assert len(figures) > 5
    assert [one for one in figures if not re.search(rf"(?<![\d.,]){re.escape(one)}(?![\d.,]*\d)", PERFORMANCE)] == []


def test_what_is_called_shipped_is_in_the_manifest() -> None:
    (row,) = [line for line in section("Requests and limits").splitlines() if "what is shipped" in line]
    _, requested, limit, cpu, _ = (cell.strip() for cell in row.strip("|").split("|"))
    deployment = yaml.safe_load((ROOT / "deploy" / "base" / "deployment.yaml").read_text(encoding="utf-8"))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": cpu, "memory": requested}, "limits": {"memory": limit}}
