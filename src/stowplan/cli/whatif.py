"""`stowplan whatif`: ask the cluster before changing it, on files or of a running scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from stowplan.cli import HelpfulGroup, options, output
from stowplan.cli.output import BadInputError
from stowplan.config.feature_gates import FeatureGates

F = TypeVar("F", bound=Callable[..., Any])
#: A slip of the finger is not to keep anybody busy for hours.
MOST_NODES: Final = 100_000
MOST_PODS: Final = 1_000_000

#: What is true of each answer if it is a yes.
_YES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "fits": lambda answer: bool(answer["fits"]),
    "headroom": lambda answer: answer["rounds"] > 0,
    "drain": lambda answer: bool(answer["canBeDrained"]),
    "cheapest": lambda answer: answer["nodes"] is not None,
    "preempt": lambda answer: bool(answer["findsRoom"]),
}

_SHARED: Final = (
    click.option(
        "--from",
        "cluster_files",
        multiple=True,
        metavar="FILE",
        help="The cluster as files or folders; without, a running scheduler is asked.",
    ),
    options.config,
    options.config_text,
    options.legacy_config,
    options.feature_gates,
    click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(["table", "json", "yaml", "csv"]),
        default="table",
        show_default=True,
    ),
    options.finding,
)
_WORKLOADS: Final = click.option(
    "-f",
    "--filename",
    "workloads",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Pods, or workloads that make some.",
)
_REPLICAS: Final = click.option(
    "--replicas",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="So many of each, whatever the files say.",
)


def shared(command: F) -> F:
    """Add the options that say which cluster is asked, and how the answer is written."""
    for option in reversed(_SHARED):
        command = option(command)
    return command


@click.group("whatif", cls=HelpfulGroup)
def command() -> None:
    """Ask the cluster before changing it; nothing is changed.

    Asked is the cluster in the files of --from, or a running scheduler: the one that `stowplan up` started in this
    folder, the one that leads in the cluster of the kubeconfig, or the one at --server. Exits with 1 if the answer is
    no, with 2 if there is none.
    """


@command.command("fits")
@_WORKLOADS
@_REPLICAS
@shared
@click.pass_context
def fits(ctx: click.Context, /, **given: Any) -> None:
    """Would these pods fit, and where; if not, every reason and the nearest miss."""
    _answer(ctx, given, lambda asked: {"fits": asked.pods(given["replicas"])})


@command.command("headroom")
@click.option(
    "-f",
    "--filename",
    "workloads",
    multiple=True,
    required=True,
    metavar="FILE[:COUNT]",
    help="A pod, or a workload that makes one, and how many of it are in one round of the mix.",
)
@click.option("--limit", type=click.IntRange(min=1), default=100_000, show_default=True, help="Stop at so many pods.")
@shared
@click.pass_context
def headroom(ctx: click.Context, /, **given: Any) -> None:
    """How many of a mix of pods fit, and what runs out first, on how many nodes."""
    counts: dict[str, int] = {}
    for text in given["workloads"]:
        path, count = _counted(text)
        if path in counts:
            raise BadInputError(f"-f {text}: {path} is there twice; name it once, with how many of it are in a round")
        counts[path] = count
    given = {**given, "workloads": tuple(counts)}
    _answer(ctx, given, lambda asked: {"headroom": {"mix": asked.mix(counts), "limit": given["limit"]}})


@command.command("drain")
@click.argument("nodes", nargs=-1, metavar="[NODE]...")
@click.option("-l", "--selector", default="", metavar="SELECTOR", help="The nodes with these labels.")
@click.option("--zone", default="", metavar="ZONE", help="All nodes of a zone.")
@click.option(
    "--batches", type=click.IntRange(min=1), default=1, show_default=True, help="Drain them in so many steps."
)
@shared
@click.pass_context
def drain(ctx: click.Context, /, **given: Any) -> None:
    """Where everybody goes if nodes are drained, who stays homeless and why, which budgets stand in the way."""
    if not (given["nodes"] or given["selector"] or given["zone"]):
        raise click.UsageError("no node is named; write names, -l SELECTOR or --zone ZONE")
    wanted = {
        "names": given["nodes"],
        "selector": given["selector"],
        "zone": given["zone"],
        "batches": given["batches"],
    }
    _answer(ctx, given, lambda asked: {"drain": wanted})


@command.command("preempt")
@_WORKLOADS
@shared
@click.pass_context
def preempt(ctx: click.Context, /, **given: Any) -> None:
    """Whom a pod would push out: all candidates in the order of choice, and what becomes of the victims."""
    _answer(ctx, given, lambda asked: {"preempt": {"pod": asked.only_pod()}})


@command.command("add-nodes", context_settings={"allow_interspersed_args": False})
@click.option("--like", multiple=True, metavar="NODE[=COUNT]", help="Nodes like one of the cluster.")
@click.option("--shape", multiple=True, metavar="FILE:NAME[=COUNT]", help="Nodes as the one of that name in a file.")
@click.option("--cheapest", is_flag=True, help="Search the smallest number of nodes that makes the pods of -f fit.")
@click.option(
    "--most", type=click.IntRange(1, MOST_NODES), default=1000, show_default=True, help="Search up to so many nodes."
)
@click.argument("question", nargs=-1, type=click.UNPROCESSED, metavar="QUESTION [OPTIONS]...")
@click.pass_context
def add_nodes(ctx: click.Context, /, **given: Any) -> None:
    """Suppose more nodes, then ask QUESTION: fits, headroom, drain or preempt, with its own options.

    \b
    stowplan whatif add-nodes --like big-1=3 fits -f job.yaml
    stowplan whatif add-nodes --like big-1 --cheapest fits -f job.yaml
    """
    if not (given["like"] or given["shape"]):
        raise click.UsageError("no node is described; write --like NODE=COUNT or --shape FILE:NAME=COUNT")
    names = [name for name in command.commands if name != "add-nodes"]
    if not given["question"] or given["question"][0] not in names:
        raise click.UsageError(f"what is asked then? End with one of: {', '.join(names)}, and its options")
    templates = (*given["like"], *given["shape"])
    if given["cheapest"] and (len(templates) > 1 or given["question"][0] != "fits"):
        raise click.UsageError("--cheapest searches the number of one --like or --shape, for the question fits")
    if given["cheapest"] and "=" in templates[0].rpartition(":")[2]:
        raise click.UsageError(f"{templates[0]}: --cheapest searches the number; leave =COUNT out")
    name, *arguments = given["question"]
    ctx.meta[_LIKE], ctx.meta[_SHAPES] = given["like"], given["shape"]
    ctx.meta[_SEARCH] = given["most"] if given["cheapest"] else None
    asked = command.commands[name]
    with asked.make_context(f"{ctx.command_path} {name}", list(arguments), parent=ctx) as inner:
        asked.invoke(inner)


_LIKE: Final = f"{__name__}.like"
_SHAPES: Final = f"{__name__}.shapes"
_SEARCH: Final = f"{__name__}.search"


def _counted(text: str) -> tuple[str, int]:
    path, colon, count = text.rpartition(":")
    if not colon or Path(text).exists():
        return text, 1
    if not _is_number(count, MOST_PODS):
        raise BadInputError(f"-f {text}: {count!r} is no number of pods; write FILE:COUNT, 1 to {MOST_PODS}")
    return path, int(count)


def _like(text: str) -> dict[str, Any]:
    name, equals, count = text.partition("=")
    return {"like": name, "count": _number(text, count) if equals else 1}


def _shape(text: str, gates: FeatureGates) -> dict[str, Any]:
    from stowplan.local.question_files import find_node

    path, colon, rest = text.rpartition(":")
    name, equals, count = rest.partition("=")
    if not colon or not name:
        raise BadInputError(f"--shape {text}: write FILE:NAME=COUNT, the name of a node in a file, or of a shape")
    number = _number(text, count) if equals else 1
    return {"shape": find_node(path, name, gates), "count": number}


def _number(text: str, count: str) -> int:
    if not _is_number(count, MOST_NODES):
        raise BadInputError(f"{text}: {count!r} is no number of nodes; write 1 to {MOST_NODES}")
    return int(count)


def _is_number(text: str, most: int) -> bool:
    return text.isascii() and text.isdigit() and 1 <= int(text[: len(str(most)) + 1]) <= most and len(text) < 10


# Asking


def _answer(ctx: click.Context, given: Mapping[str, Any], question: Callable[[Any], dict[str, Any]]) -> None:
    """Put the question to files or to a scheduler, write the answer, and exit with 1 if it is no."""
    output.require_embedded("reading what is asked about as an API server would")
    _check_source(given)
    from stowplan.app.configuration import SourceError
    from stowplan.local.question_files import QuestionFiles
    from stowplan.whatif.world import QuestionError

    try:
        files = QuestionFiles(given["cluster_files"], given.get("workloads", ()), given["gates"])
        asked, steps = question(files), [{"addNodes": step} for step in _more_nodes(ctx, given["gates"])]
        most = ctx.meta.get(_SEARCH)
        if most is not None:
            (wanted,) = (step["addNodes"] for step in steps)
            del wanted["count"]
            asked, steps = {"cheapest": {**wanted, "pods": _countable(asked["fits"]), "most": most}}, []
        body = {"steps": [*files.needed(), *steps], "question": asked}
        found = _ask_files(given, files, body) if given["cluster_files"] else _ask_scheduler(given, files, body)
    except (QuestionError, SourceError) as error:
        raise BadInputError(str(error)) from None
    kind = next(iter(asked))
    _write(kind, found, given["form"])
    output.write_notes(f"{name}: takes no part in what is supposed" for name in found["notTakingPart"])
    if not _YES[kind](found[kind]):
        ctx.exit(1)


def _check_source(given: Mapping[str, Any]) -> None:
    """Refuse options that have no effect: a cluster is in files, or its scheduler runs."""
    if given["cluster_files"]:
        unused = [name for name in _FOR_SCHEDULER if given[name]]
        why = "the cluster is in the files of --from, and no scheduler is asked"
    else:
        unused = [name for name in _FOR_FILES if given[name]]
        why = "a running scheduler has a configuration of its own; name files with --from to use another"
    if unused:
        flag = {**_FOR_SCHEDULER, **_FOR_FILES}[unused[0]]
        raise click.UsageError(f"{flag} has no effect: {why}")


_FOR_SCHEDULER: Final = {
    "server": "--server",
    "kubeconfig": "--kubeconfig",
    **options.SEARCHING,
    "token_file": "--token-file",
    "certificate_authority": "--certificate-authority",
    "tls_server_name": "--tls-server-name",
    "insecure_skip_tls_verify": "--insecure-skip-tls-verify",
}
_FOR_FILES: Final = {"config_path": "--config", "config_text": "--config-text", "legacy_config": "--legacy-config"}


def _more_nodes(ctx: click.Context, gates: FeatureGates) -> list[dict[str, Any]]:
    """Return the nodes that `add-nodes` supposes, if that is what led here."""
    likes, shapes = ctx.meta.get(_LIKE, ()), ctx.meta.get(_SHAPES, ())
    return [*map(_like, likes), *(_shape(text, gates) for text in shapes)]


def _countable(asked: Mapping[str, Any]) -> Any:
    """Return the pods of a question, if more nodes do not bring more of them."""
    if asked["everyNode"]:
        raise BadInputError("--cheapest: of a DaemonSet there is a pod for every node more; ask for its pods alone")
    return asked["pods"]


def _ask_scheduler(given: Mapping[str, Any], files: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    output.write_notes(files.notes())
    return options.send(given, body)


def _ask_files(given: Mapping[str, Any], files: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    import msgspec

    from stowplan.app import what_if
    from stowplan.cli.inputs import make_cluster, put_in
    from stowplan.whatif import requests

    cluster, notes = make_cluster(given)
    found = files.cluster()
    put_in(cluster, found)
    output.write_notes((*notes, *dict.fromkeys((*files.notes(), *found.notes))))
    return what_if.ask(cluster, requests.read(msgspec.json.encode(body)), files.waiting())


def _write(kind: str, found: Mapping[str, Any], form: str) -> None:
    from stowplan.observe.csv_text import csv_text
    from stowplan.whatif import tables

    answer = found[kind]
    if form in ("json", "yaml"):
        output.write_data(found, form)
        return
    if form == "csv":
        output.write_csv(csv_text(*tables.records(kind, answer)))
        return
    for table in tables.of(kind, answer):
        if table.rows:
            output.write_table(table.headings, table.rows)
    for line in tables.sentences(kind, answer):
        click.echo(line)


__all__: Sequence[str] = ("command",)
