"""What was scraped of schedulers, given to the real promtool: which alerts fire, and when."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.processes import BINARIES
from tests.limits import LIMIT_SECONDS

DEPLOY: Final = Path(__file__).resolve().parents[3] / "deploy"
ALERTS: Final = DEPLOY / "monitoring" / "alerts.yaml"
#: One scrape is one evaluation of the rules.
INTERVAL_SECONDS: Final = 30
_FIRING: Final = 'group by (alertname) (ALERTS{alertstate="firing"})'
_NOT_THERE: Final = "_"

#: By minute, the alerts that are to fire, and no others.
Firing = Mapping[float, Sequence[str]]


def promtool(*arguments: str | Path, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run promtool, and return how that went."""
    program = BINARIES / "promtool"
    if not program.exists():
        pytest.fail(f"there is no promtool in {BINARIES}; `make e2e` builds it and runs these tests")
    return subprocess.run(
        [program, *arguments], input=given, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )


def assert_firing(folder: Path, scrapes: Mapping[str, Sequence[str]], firing: Firing) -> None:
    """Have promtool say that exactly these alerts fire; the scrapes are by instance."""
    path = folder / "alerts_test.yaml"
    expected = [
        {
            "expr": _FIRING,
            "eval_time": f"{round(minute * 60)}s",
            "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(names)],
        }
        for minute, names in firing.items()
    ]
    interval = f"{INTERVAL_SECONDS}s"
    series = [one for instance, texts in scrapes.items() for one in input_series(instance, texts)]
    test = {"interval": interval, "input_series": series, "promql_expr_test": expected}
    rules = {"rule_files": [str(ALERTS)], "evaluation_interval": interval, "tests": [test]}
    path.write_text(yaml.safe_dump(rules, width=10**6), encoding="utf-8")
    result = promtool("test", "rules", path)
    assert result.returncode == 0, result.stdout + result.stderr


def input_series(instance: str, texts: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield what the rules look at, as promtool reads it; the label of the job is that of a scrape."""
    wanted = set(re.findall(r"([a-z_]+)\{", ALERTS.read_text(encoding="utf-8")))
    columns: dict[str, list[str]] = {}
    for number, text in enumerate(texts):
        for series, value in _samples(text, wanted, instance):
            column = columns.setdefault(series, [])
            column += _gap(column, number)
            column.append(value)
    for series, column in columns.items():
        yield {"series": series, "values": " ".join([*column, *_gap(column, len(texts))])}


def _gap(column: list[str], number: int) -> Iterable[str]:
    """Return what stands for scrapes in which a series was not; one that was there before ends at once."""
    missing = number - len(column)
    return ["stale" if column else _NOT_THERE, *[_NOT_THERE] * (missing - 1)] if missing else []


def _samples(text: str, wanted: set[str], instance: str) -> Iterator[tuple[str, str]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in wanted:
                labels: dict[str, Any] = {**sample.labels, "job": "stowplan", "instance": instance}
                shown = ", ".join(f'{name}="{value}"' for name, value in labels.items())
                yield f"{sample.name}{{{shown}}}", repr(sample.value)
