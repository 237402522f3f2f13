"""`stowplan explain`: say why a pod, or a group, goes where it goes, or nowhere; on files or of a running scheduler."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stowplan.cli import options, output
from stowplan.cli.output import BadInputError

if TYPE_CHECKING:
    from stowplan.app.cluster import Cluster
    from stowplan.model.pod import Pod

F = TypeVar("F", bound=Callable[..., Any])
#: The word before the name of a group.
POD_GROUP = "podgroup"


_TOLD = (
    options.top,
    click.option("--node", "nodes", multiple=True, metavar="NAME", help="Say everything about this node, too."),
    click.option("--all-nodes", is_flag=True, help="Say of every node what speaks against it."),
    click.option(
        "-o", "--output", "form", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True
    ),
    options.finding,
)


def told(command: F) -> F:
    """Add the options that say how much is told of a pod, how, and by which scheduler."""
    for option in reversed(_TOLD):
        command = option(command)
    return command


@click.command("explain")
@click.argument("arguments", nargs=-1, required=True, metavar="[pod|podgroup] NS/NAME [FILE...]")
@options.config
@options.config_text
@options.legacy_config
@options.feature_gates
@told
def command(**given: Any) -> None:
    """Say why pod NS/NAME goes where it goes, or nowhere.

    With FILEs (folders, - for the standard input), on the cluster found in them, with the pods of workloads: other
    pending pods are not placed first. Without, a running scheduler is asked, and also tells when the pod was tried, who
    rejected it and what will bring it back: the one that `stowplan up` started in this folder, the one that leads in
    the cluster of the kubeconfig, or the one at --server.

    A pod that runs already is explained as if it were still to be scheduled. Of a pod group it is told, for
    every placement, which pods it takes and what is against the next one; and whom the group would evict.
    """
    name, files = _split(given["arguments"])
    is_group = given["arguments"][0] == POD_GROUP and name != POD_GROUP
    if is_group and files:
        _explain_group(name, files, given)
    elif is_group:
        ask({"podgroup": name}, given)
    elif files:
        _explain_files(name, files, given)
    else:
        ask_about_pod(name, given)


def _split(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the pod, or the group, and the files; the word `pod` in front may be left out."""
    is_word = arguments[0] in ("pod", POD_GROUP) and len(arguments) > 1
    # A pod of that name, and a file.
    if is_word and len(arguments) == 2 and Path(arguments[1]).is_file():
        is_word = False
    name, *files = arguments[1:] if is_word else arguments
    return name, files


# By asking


def ask_about_pod(name: str, given: Mapping[str, Any]) -> None:
    """Write what a running scheduler says of a pod."""
    chosen = {"node": ",".join(given["nodes"]), "nodes": "all" if given["all_nodes"] else ""}
    ask({"pod": name, "top": str(given["top"]), **chosen}, given)


def ask(about: Mapping[str, str], given: Mapping[str, Any]) -> None:
    from stowplan.serving.debug_pages import EXPLAIN

    is_text = given["form"] == "text"
    form = {"format": "text" if is_text else "", "width": str(output.width()) if is_text else ""}
    answer = options.ask(given, EXPLAIN, {**about, **form})
    if is_text:
        click.echo(answer, nl=False)
    else:
        output.write_data(json.loads(answer), given["form"])


# On files


def _explain_files(name: str, files: Sequence[str], given: Mapping[str, Any]) -> None:
    # Loaded here: who asks another process need not wait for them.
    from stowplan.app.inspection import ExplainQuery, as_data, as_pending, as_text
    from stowplan.cli.inputs import find_pod, make_cluster, put_in, read_objects

    cluster, notes = make_cluster(given)
    inputs = read_objects(files, given["gates"])
    pod = find_pod(inputs, name)
    # It would be in its own way.
    del inputs.pods[pod.key]
    put_in(cluster, inputs)
    if pod.spec.scheduler_name not in cluster.profiles:
        problem = f"spec.schedulerName: no profile {pod.spec.scheduler_name!r}"
        raise BadInputError(f"pod {pod.key!r}: {problem}; the profiles are: {', '.join(sorted(cluster.profiles))}")
    pending = as_pending(pod)
    # It is a part of its group all the same.
    cluster.cache.groups.put_pod(pending)
    explanation = cluster.explain(pending)
    for node in given["nodes"]:
        if node not in explanation.nodes:
            count = len(explanation.nodes)
            raise BadInputError(f"node {node!r} is in none of the files; name one of the {count} that are")
    output.write_notes((*notes, *inputs.notes))
    query = ExplainQuery(pod.key, given["nodes"], given["all_nodes"], given["top"], output.width())
    if given["form"] == "text":
        click.echo(as_text(explanation, None, query), nl=False)
    else:
        output.write_data(as_data(explanation, None, query), given["form"])


def _explain_group(name: str, files: Sequence[str], given: Mapping[str, Any]) -> None:
    from stowplan.app.pod_groups import root_of
    from stowplan.cli.inputs import make_cluster, put_in, read_objects
    from stowplan.observe.group_explanation import render_group

    cluster, notes = make_cluster(given)
    inputs = read_objects(files, given["gates"])
    put_in(cluster, inputs)
    namespace, _, short = name.rpartition("/")
    wanted = (namespace or "default", short)
    ours = [pod for pod in inputs.pending if pod.spec.scheduler_name in cluster.profiles]
    pods = [pod for pod in ours if (root := root_of(cluster.cache, pod)) and (root.namespace, root.name) == wanted]
    if not pods:
        raise BadInputError(f"pod group {'/'.join(wanted)!r}: {_why_nobody(cluster, ours, wanted)}")
    explanation = cluster.explain_group(pods)
    output.write_notes((*notes, *inputs.notes))
    if given["form"] == "text":
        click.echo(render_group(explanation, output.width()))
    else:
        output.write_data(explanation.data(), given["form"])


def _why_nobody(cluster: Cluster, pods: Sequence[Pod], wanted: tuple[str, str]) -> str:
    """Say why no pod is tried with a group: groups mean nothing, it is a part of another one, or nobody names it."""
    from stowplan.app.pod_groups import root_of
    from stowplan.framework.pod_groups import has_groups
    from stowplan.model.pod_group import own_group

    if not has_groups(cluster.feature_gates):
        return "it means nothing without the feature gate GenericWorkload (in 1.36 GangScheduling, too)"
    named = [pod for pod in pods if (key := own_group(pod)) and (key.namespace, key.name) == wanted]
    roots = [root for pod in named if (root := root_of(cluster.cache, pod))]
    if roots:
        return f"it is scheduled as a part of {roots[0]}; ask for that one"
    if named:
        return "it, or a group that it is a part of, is not in the files; or groups are parts of each other"
    return "no pending pod in the files waits with it"
