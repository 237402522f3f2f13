"""Alerts and dashboard name metrics and labels that exist, and each alert has a page; `make e2e` asks promtool."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from stowplan.observe.metrics import ALL
from stowplan.observe.series import Definition
from tests.unit.deploy.manifests import DEPLOY, ROOT, read
from tools import generate_dashboard

RULES: list[dict[str, Any]] = read(DEPLOY / "monitoring" / "alerts.yaml")[0]["groups"][0]["rules"]
#: Of the process, as every client of Prometheus has them; and labels that a scrape adds.
OF_EVERY_PROCESS = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
OF_A_SCRAPE = {"job", "instance", "le"}


def families() -> Iterator[tuple[str, Definition]]:
    """Yield the names that Prometheus knows a metric by, with the metric."""
    for one in ALL:
        if one.kind != "histogram":
            yield one.name, one
        for suffix in ("_bucket", "_sum", "_count") if one.kind == "histogram" else ():
            yield one.name + suffix, one


KNOWN = dict(families())


def metrics_of(expression: str) -> set[str]:
    """Return the metrics of an expression: what stands before braces."""
    return set(re.findall(r"([a-z_:]+)\{", expression))


def labels_of(expression: str) -> set[str]:
    """Return the labels that an expression selects by, or groups by."""
    selected = {label for part in re.findall(r"\{([^}]*)\}", expression) for label in re.findall(r"(\w+)\s*[=!]", part)}
    grouped = {
        label for part in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression) for label in re.split(r",\s*", part)
    }
    return selected | grouped


def labels_there(expression: str) -> set[str]:
    return {label for name in metrics_of(expression) if name in KNOWN for label in KNOWN[name].labels} | OF_A_SCRAPE


EXPRESSIONS = [rule["expr"] for rule in RULES] + generate_dashboard.expressions()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_names_metrics_and_labels_that_exist(expression: str) -> None:
    names = metrics_of(expression)
    assert names
    assert names - set(KNOWN) - OF_EVERY_PROCESS == set()
    assert labels_of(expression) - labels_there(expression) == set()


@pytest.mark.parametrize(
    ("expression", "is_fine"),
    [
        pytest.param('sum by (job) (rate(scheduler_pending_pods{job="a"}[5m]))', True, id="all there"),
        pytest.param('scheduler_pending_podz{job="a"}', False, id="no such metric"),
        pytest.param('scheduler_pending_pods{que="active"}', False, id="no such label"),
        pytest.param("sum by (plugin) (scheduler_pending_pods{})", False, id="grouped by a label of another metric"),
    ],
)
def test_what_does_not_exist_is_found(expression: str, is_fine: bool) -> None:
    are_known = metrics_of(expression) <= set(KNOWN)
    assert (are_known and labels_of(expression) <= labels_there(expression)) is is_fine


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_has_a_page_and_says_what_is_the_matter(rule: dict[str, Any]) -> None:
    name = rule["alert"]
    assert rule["annotations"]["runbook_url"] == f"https://stowplan.dev/alerts.html#{name.lower()}"
    assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}
    assert rule["labels"]["severity"] in ("critical", "warning")
    page = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
    _, _, section = page.partition(f"\n## {name}\n")
    headings = re.findall(r"^\*\*(.+?)\.\*\*", section.partition("\n## ")[0], re.MULTILINE)
    assert headings == ["What it means", "How to look", "What to do"]


def test_every_page_is_of_an_alert() -> None:
    page = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == [rule["alert"] for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_is_about_one_job_that_the_chart_can_rename(rule: dict[str, Any]) -> None:
    selections = re.findall(r"\{([^}]*)\}", rule["expr"])
    assert selections
    assert [one for one in selections if 'job="stowplan"' not in one] == []


def test_the_dashboard_is_the_one_that_is_generated() -> None:
    assert generate_dashboard.PAGE.read_text(encoding="utf-8") == generate_dashboard.text(), "run `make chart`"


def test_no_panel_of_the_dashboard_lies_on_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in generate_dashboard.dashboard()["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
