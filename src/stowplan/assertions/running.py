"""Assertions of files, asked of one cluster: those that suppose the same share what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from stowplan.app.cluster import Cluster
from stowplan.assertions.assertion_file import NamedAssertion
from stowplan.assertions.settling import settled
from stowplan.assertions.workloads import WorkloadPods
from stowplan.whatif.world import QuestionError


@dataclass(frozen=True, slots=True)
class AssertionResult:
    """What came of an assertion: it holds, it does not, or it could not be asked."""

    assertion: NamedAssertion
    failure: str = ""
    error: str = ""

    @property
    def is_good(self) -> bool:
        return not (self.failure or self.error)


def run(
    cluster: Cluster, assertions: Sequence[NamedAssertion], admitting: Sequence[Mapping[str, Any]] | None = None
) -> list[AssertionResult]:
    """Ask whether assertions hold; the results come in their order.

    `admitting` are the objects that decide how pods come out that are made in the cluster.
    """
    groups: dict[tuple[str, str], list[NamedAssertion]] = {}
    for one in assertions:
        # What is named in a step may be beside the file.
        groups.setdefault((one.file, one.key), []).append(one)
    workloads = WorkloadPods(cluster, admitting)
    results = {id(one.assertion): one for group in groups.values() for one in _run_group(cluster, group, workloads)}
    return [results[id(one)] for one in assertions]


def _run_group(cluster: Cluster, group: Sequence[NamedAssertion], workloads: WorkloadPods) -> list[AssertionResult]:
    results: list[AssertionResult] = []
    try:
        with settled(cluster, group[0].steps, workloads) as found:
            for one in group:
                try:
                    broken = one.claim.look(found)
                except QuestionError as error:
                    results.append(AssertionResult(one, error=str(error)))
                else:
                    results.append(AssertionResult(one, failure="" if broken is None else str(broken)))
    except QuestionError as error:
        # Of a step, which all of them take.
        return [AssertionResult(one, error=str(error)) for one in group]
    return results


def junit(results: Sequence[AssertionResult]) -> bytes:
    """Write results as CI systems read them: a suite for every file."""
    suites = ElementTree.Element("testsuites", _counts(results))
    for file in dict.fromkeys(one.assertion.file for one in results):
        ours = [one for one in results if one.assertion.file == file]
        suite = ElementTree.SubElement(suites, "testsuite", {"name": _text(file), **_counts(ours)})
        for one in ours:
            names = {"classname": _text(file), "name": _text(one.assertion.name)}
            case = ElementTree.SubElement(suite, "testcase", names)
            for kind, text in (("failure", one.failure), ("error", one.error)):
                if text:
                    told = ElementTree.SubElement(case, kind, {"message": _text(text.partition("\n")[0])})
                    told.text = _text(text)
    ElementTree.indent(suites)
    written: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _counts(results: Sequence[AssertionResult]) -> dict[str, str]:
    return {
        "tests": str(len(results)),
        "failures": str(sum(bool(one.failure) for one in results)),
        "errors": str(sum(bool(one.error) for one in results)),
    }


def _text(text: str) -> str:
    """Leave out what XML has no way to write."""
    return "".join(letter for letter in text if letter in "\t\n" or letter.isprintable())
