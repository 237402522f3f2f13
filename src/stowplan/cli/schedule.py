"""`stowplan schedule`: place the pending pods of some files, one after another, and show where they went."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from stowplan.app.cluster import Cluster, Gated
from stowplan.cli import options, output
from stowplan.cli.file_run import FileRun
from stowplan.cli.inputs import find_pod, make_cluster, put_in, read_objects
from stowplan.cli.output import BadInputError
from stowplan.engine.failure import Chosen, Result
from stowplan.framework.gangs import group_gates
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod
from stowplan.observe.explanation import render, summary

if TYPE_CHECKING:
    from stowplan.local.file_cluster import FileCluster

#: The points of the binding cycle, by their upstream names.
_POINTS: Final = {"permit": "Permit", "pre_bind": "PreBind", "bind": "Bind", "post_bind": "PostBind"}


@click.command("schedule")
@options.files
@options.config
@options.config_text
@options.legacy_config
@options.feature_gates
@click.option(
    "--ties",
    type=click.Choice(["random", "upstream"]),
    default="random",
    show_default=True,
    help="Which of equally good nodes is taken: any, or the one kube-scheduler takes with parallelism 1.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of random ties: the same seed gives the same nodes.")
@click.option("--explain", "explained", multiple=True, metavar="NS/NAME", help="Explain this pod when its turn comes.")
@options.top
@click.option("--allow-refused", is_flag=True, help="Exit with 0 even if a pod was refused or its attempt failed.")
@options.form_or_csv
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Schedule the pending pods found in FILEs on the nodes found in them, in queue order.

    FILEs hold Kubernetes objects in YAML or JSON, and are checked and completed as by an API server: nodes, pods,
    workloads, whose pods are made, and whatever else scheduling reads. A folder stands for the files in it, - for the
    standard input. Pods that fit nowhere evict less important ones, as their profile says. Exits with 1 if a pod was
    refused, its group lacks pods or its attempt failed, with 2 if nothing could be scheduled.
    """
    if given["explained"] and given["form"] == "csv":
        raise click.UsageError("--explain has no place in a table; leave it out, or write -o json instead of -o csv")
    cluster, notes = make_cluster(given)
    output.write_notes((*notes, *_unasked_plugins(cluster.profiles.values())))
    inputs = read_objects(given["files"], given["gates"])
    wanted = {find_pod(inputs, name).key for name in given["explained"]}
    put_in(cluster, inputs)
    ours = _ours(cluster, inputs)
    output.write_notes(inputs.notes)
    if not (ours or inputs.unmade):
        raise BadInputError(f"nothing to schedule: {_why_nothing(inputs)}")
    run = FileRun(cluster, inputs, wanted)
    run.run(ours)
    if given["form"] == "csv":
        output.write_csv(run.placements.to_frame().to_csv())
        output.write_preempted(run.preempted, is_beside=True)
        output.write_unmade(inputs.unmade, is_beside=True)
    elif given["form"] == "table":
        _write(run)
        for explanation in run.explanations:
            click.echo(f"\n{render(explanation, output.width(), given['top'])}")
    else:
        shown = [summary(explanation, given["top"]) for explanation in run.explanations]
        output.write_data({**_as_data(run), "explanations": shown}, given["form"])
    is_good = not inputs.unmade and not any(_is_bad(cluster, one) for one in run.placements)
    if not is_good and not given["allow_refused"]:
        ctx.exit(1)


def _is_bad(cluster: Cluster, result: Result | Gated) -> bool:
    """Say whether a pod that ought to have a node has none; one whose group is not complete ought to."""
    if isinstance(result, Gated):
        return result.rejection.plugin in group_gates(cluster.profile_of(result.pod))
    return not isinstance(result, Chosen)


def _why_nothing(inputs: FileCluster) -> str:
    if inputs.pending:
        return f"{output.counted(len(inputs.pending), 'pending pod')}, for other schedulers"
    if inputs.pods:
        return f"{output.counted(len(inputs.pods), 'pod')} in the files, none of them pending"
    return "no pod is in the files, nor a workload that makes some"


def _ours(cluster: Cluster, inputs: FileCluster) -> list[Pod]:
    """Return the pending pods that a profile is responsible for, as a scheduler sees them."""
    ours = []
    for pod in inputs.pending:
        if pod.spec.scheduler_name in cluster.profiles:
            ours.append(pod)
        else:
            known = ", ".join(sorted(cluster.profiles))
            whose = f"spec.schedulerName is {pod.spec.scheduler_name!r}; the profiles here are: {known}"
            inputs.notes.append(f"pod {pod.key!r} is left to another scheduler: {whose}")
    return ours


def _unasked_plugins(profiles: Iterable[Profile]) -> list[str]:
    """Name the foreign plugins that are not asked at all their points, each once: nothing is bound here."""
    found = (
        _unasked(plugin.name, [word for point, word in _POINTS.items() if plugin in getattr(profile, point)])
        for profile in profiles
        for plugin in profile.foreign
    )
    return list(dict.fromkeys(note for note in found if note))


def _unasked(plugin: str, points: list[str]) -> str:
    if not points:
        return ""
    verb, whom = ("is", "it") if len(points) == 1 else ("are", "them")
    return f"plugin {plugin!r}: {' and '.join(points)} {verb} not asked here; `stowplan up --once` asks {whom}"


def _write(run: FileRun) -> None:
    placements = run.placements
    placed = placements.placed
    if placed:
        output.write_table(("pod", "node", "feasible nodes", "score"), map(_row, placed))
    for word, unplaced in (
        ("held back", placements.held),
        ("refused", placements.refused),
        ("failed", placements.failed),
    ):
        for one in unplaced:
            click.echo(f"{word} {one.pod.key}: {one.message}")
    output.write_preempted(run.preempted)
    output.write_unmade(run.inputs.unmade)
    click.echo(f"{len(placed)} of {len(placements)} pending pods placed")


def _row(chosen: Chosen) -> tuple[str, str, str, str]:
    total = "" if chosen.total is None else str(chosen.total)
    # Of a pod that is placed with its group it is not told.
    return chosen.pod.key, chosen.node_name, str(chosen.feasible_count or ""), total


def _as_data(run: FileRun) -> dict[str, Any]:
    placements = run.placements
    return {
        "placements": [
            {"pod": c.pod.key, "node": c.node_name, "feasibleNodes": c.feasible_count, "score": c.total}
            for c in placements.placed
        ],
        "refused": [{"pod": refused.pod.key, "message": refused.message} for refused in placements.refused],
        "failed": [{"pod": failed.pod.key, "message": failed.message} for failed in placements.failed],
        "held": [
            {"pod": gated.pod.key, "plugin": gated.rejection.plugin, "reasons": list(gated.rejection.reasons)}
            for gated in placements.held
        ],
        "preempted": msgspec.to_builtins(run.preempted),
        "unmade": msgspec.to_builtins(run.inputs.unmade),
    }
