"""`stowplan explain`: say why a pod goes where it goes, or nowhere; on files, or by asking a running scheduler."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stowplan.cli import options, output
from stowplan.cli.output import BadInputError

if TYPE_CHECKING:
    from stowplan.cli.inputs import Inputs
    from stowplan.model.pod import Pod
    from stowplan.observe.explanation import Explanation, NodeReport


@click.command("explain")
@click.argument("arguments", nargs=-1, required=True, metavar="[pod] NS/NAME [FILE...]")
@options.config
@options.config_text
@options.legacy_config
@options.feature_gates
@options.top
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="Say everything about this node, too.")
@click.option("--all-nodes", is_flag=True, help="Say of every node what speaks against it.")
@click.option("-o", "--output", "form", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
@options.finding
def command(**given: Any) -> None:
    """Say why pod NS/NAME goes where it goes, or nowhere.

    With FILEs (folders, - for the standard input), on the cluster found in them, with the pods of workloads: other
    pending pods are not placed first. Without, a running scheduler is asked, and also tells when the pod was tried, who
    rejected it and what will bring it back: the one that `stowplan up` started in this folder, or the one at --server.

    A pod that runs already is explained as if it were still to be scheduled.
    """
    name, files = _split(given["arguments"])
    if files:
        _explain_files(name, files, given)
    else:
        _ask(name, given)


def _split(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the pod and the files; the word `pod` in front may be left out."""
    is_word = arguments[0] == "pod" and len(arguments) > 1
    # A pod of that name, and a file.
    if is_word and len(arguments) == 2 and Path(arguments[1]).is_file():
        is_word = False
    name, *files = arguments[1:] if is_word else arguments
    return name, files


# By asking


def _ask(name: str, given: Mapping[str, Any]) -> None:
    from stowplan.serving.debug_pages import EXPLAIN

    is_text = given["form"] == "text"
    parameters = {
        "pod": name,
        "node": ",".join(given["nodes"]),
        "nodes": "all" if given["all_nodes"] else "",
        "top": str(given["top"]),
        "format": "text" if is_text else "",
        "width": str(output.width()) if is_text else "",
    }
    answer = options.ask(given, EXPLAIN, parameters)
    if is_text:
        click.echo(answer, nl=False)
    else:
        output.write_data(json.loads(answer), given["form"])


# On files


def _explain_files(name: str, files: Sequence[str], given: Mapping[str, Any]) -> None:
    # Loaded here: who asks another process need not wait for them.
    from stowplan.cli.inputs import make_cluster, put_in, read_objects, read_settings

    settings = read_settings(given)
    cluster = make_cluster(settings)
    inputs = read_objects(files, given["gates"])
    pod = _as_pending(inputs, name)
    put_in(cluster, inputs)
    if pod.spec.scheduler_name not in cluster.profiles:
        raise BadInputError(_no_profile(pod, cluster.profiles))
    explanation = cluster.explain(pod)
    reports = [_report(explanation, node) for node in given["nodes"]]
    output.write_notes((*settings.notes, *inputs.notes))
    if given["form"] == "text":
        _write_text(explanation, reports, given)
    else:
        _write_data(explanation, reports, given)


def _as_pending(inputs: Inputs, name: str) -> Pod:
    """Take the pod out of the cluster; it would otherwise be in its own way."""
    from msgspec.structs import replace

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


def _write_text(explanation: Explanation, reports: Sequence[NodeReport], given: Mapping[str, Any]) -> None:
    from stowplan.observe.explanation import render, render_every_node, render_node

    width = output.width()
    click.echo(render(explanation, width, given["top"]))
    if given["all_nodes"]:
        click.echo(f"\n{render_every_node(explanation, width)}")
    for report in reports:
        click.echo(f"\n{render_node(report, width)}")


def _write_data(explanation: Explanation, reports: Sequence[NodeReport], given: Mapping[str, Any]) -> None:
    from stowplan.observe.explanation import node_summary, summary

    shown = explanation.nodes.values() if given["all_nodes"] else reports
    nodes = {report.name: node_summary(report) for report in shown}
    output.write_data({**summary(explanation, given["top"]), "nodes": nodes}, given["form"])
