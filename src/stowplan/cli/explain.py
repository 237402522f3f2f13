"""`stowplan explain`: say why a pod goes where it goes, or nowhere."""

from __future__ import annotations

from typing import Any

import click
from msgspec.structs import replace

from stowplan.cli import options, output
from stowplan.cli.inputs import Inputs, make_cluster, read_objects, read_settings
from stowplan.cli.problems import BadInputError
from stowplan.model.pod import Pod
from stowplan.observe.explain import Explanation, NodeReport, render
from stowplan.observe.summary import node_summary, summary


@click.command("explain")
@click.argument("pod_name", metavar="NS/NAME")
@options.files
@options.config
@options.config_text
@options.feature_gates
@options.top
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="Say everything about this node, too.")
@click.option("-o", "--output", "form", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
def command(**given: Any) -> None:
    """Say why pod NS/NAME goes where it goes, or nowhere, on the cluster found in FILEs.

    Other pending pods are not placed first. A pod that runs already is explained as if it were still to be scheduled.
    """
    inputs = read_objects(given["files"])
    pod = _as_pending(inputs, given["pod_name"])
    cluster = make_cluster(inputs, read_settings(given))
    if pod.spec.scheduler_name not in cluster.profiles:
        raise BadInputError(_no_profile(pod, cluster.profiles))
    explanation = cluster.explain(pod)
    reports = [_report(explanation, name) for name in given["nodes"]]
    output.write_notes(inputs.notes)
    if given["form"] == "text":
        click.echo(render(explanation, output.width(), given["top"]))
        for report in reports:
            _write_report(report)
    else:
        nodes = {report.name: node_summary(report) for report in reports}
        output.write_data({**summary(explanation, given["top"]), "nodes": nodes}, given["form"])


def _as_pending(inputs: Inputs, name: str) -> Pod:
    """Take the pod out of the cluster; it would otherwise be in its own way."""
    pod = inputs.find(name)
    del inputs.pods[pod.key]
    return replace(pod, spec=replace(pod.spec, node_name=""))


def _no_profile(pod: Pod, known: Any) -> str:
    profiles = ", ".join(sorted(known))
    return f"pod {pod.key!r}: spec.schedulerName: no profile {pod.spec.scheduler_name!r}; the profiles are: {profiles}"


def _report(explanation: Explanation, name: str) -> NodeReport:
    if name not in explanation.nodes:
        raise BadInputError(f"node {name!r} is in none of the files; name one of the {len(explanation.nodes)} that are")
    return explanation.nodes[name]


def _write_report(report: NodeReport) -> None:
    click.echo(f"\nNode {report.name} {'is feasible' if report.is_feasible else 'is refused'}")
    if report.rejections:
        rows = [
            (rejection.plugin, "yes" if rejection == report.first else "", ", ".join(rejection.reasons))
            for rejection in report.rejections
        ]
        output.write_table(("plugin", "reported", "reasons"), rows)
    if report.scores:
        scores = report.scores.items()
        rows4 = [(plugin, str(score.raw), str(score.normalized), str(score.weighted)) for plugin, score in scores]
        output.write_table(("plugin", "raw", "normalized", "weighted"), [*rows4, ("total", "", "", str(report.total))])
