"""Questions about what is not there: the page answers what `stowplan whatif` answers on the same cluster."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import expect

from stowplan.embedded.types import release
from stowplan.embedded.types.schema import Schema
from tests.integration.up.up_process import Up, run
from tests.page.tab import Tab

_FITS: Final = """\
apiVersion: v1
kind: Pod
metadata: {name: trial, namespace: shop}
spec:
  nodeSelector: {kubernetes.io/hostname: general-980}
  containers:
  - {name: main, image: "example.test/app:1", resources: {requests: {cpu: 6}}}
"""
_LARGE: Final = """\
apiVersion: v1
kind: Pod
metadata: {name: trial, namespace: shop}
spec:
  containers:
  - {name: main, image: "example.test/app:1", resources: {requests: {cpu: 4, memory: 4Gi}}}
"""
_URGENT: Final = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: v1
kind: Pod
metadata: {name: trial, namespace: train}
spec:
  priorityClassName: urgent
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  containers:
  - name: main
    image: example.test/app:1
    resources: {requests: {cpu: 8, nvidia.com/gpu: 4}, limits: {nvidia.com/gpu: 4}}
"""


def whatif(cluster: Up, *question: str) -> Any:
    """Return what the command line answers."""
    said = run(cluster.folder, "whatif", *question, "-o", "json")
    assert said.returncode in (0, 1), said.stderr
    return json.loads(said.stdout)


def ask(tab: Tab, question: str, manifest: str) -> str:
    """Paste a manifest, ask, and return the answer."""
    tab.open(f"#/try?ask={question}")
    tab.page.locator("#manifest").fill(manifest)
    return press(tab, "Ask")


def press(tab: Tab, button: str) -> str:
    """Ask, and return the answer."""
    tab.page.get_by_role("button", name=button, exact=True).click()
    expect(tab.panel("Answer").locator(".verdict-line")).to_be_visible()
    return tab.text(tab.panel("Answer"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pod.yaml"


def test_whether_a_pod_fits(tab: Tab, cluster: Up, file: Path) -> None:
    file.write_text(_FITS, encoding="utf-8")
    told = whatif(cluster, "fits", "-f", str(file))["fits"]
    assert [pod["node"] for pod in told["pods"]] == ["general-980"]
    assert "Yes, it goes to general-980." in ask(tab, "fits", _FITS)


def test_how_many_copies_fit_and_why_no_more(tab: Tab, cluster: Up, file: Path) -> None:
    file.write_text(_FITS, encoding="utf-8")
    told = whatif(cluster, "fits", "-f", str(file), "--replicas", "4")["fits"]
    # Of 16 cores two were taken before, and each takes six.
    assert told["placed"] == 2
    tab.open("#/try?ask=fits")
    tab.page.locator("#manifest").fill(_FITS)
    tab.page.get_by_label("copies").fill("4")
    answer = press(tab, "Ask")
    assert "2 of 4 pods fit." in answer
    for explained in told["explanations"]:
        assert explained["message"] in answer
    tab.reload()
    expect(tab.panel("Answer")).to_contain_text("2 of 4 pods fit.")


def test_how_many_of_it_fit(tab: Tab, cluster: Up, file: Path) -> None:
    file.write_text(_LARGE, encoding="utf-8")
    told = whatif(cluster, "headroom", "-f", str(file))["headroom"]
    # Three on each general node that is not cordoned, whether or not small ones are on it; the others are tainted.
    assert told["rounds"] == 3 * 989
    answer = ask(tab, "headroom", _LARGE)
    assert "2,967 more of it fit." in answer
    for runs_out in told["runsOut"]:
        assert f"{runs_out['reason']} {runs_out['nodes']}" in answer


def test_whom_it_would_push_out(tab: Tab, cluster: Up, file: Path) -> None:
    file.write_text(_URGENT, encoding="utf-8")
    told = whatif(cluster, "preempt", "-f", str(file))["preempt"]
    assert [victim["pod"] for victim in told["candidates"][0]["victims"]] == ["train/model-3"]
    answer = ask(tab, "preempt", _URGENT)
    assert "It pushes out 1 pod and goes to gpu-3." in answer
    rows = tab.page.get_by_role("table", name="Candidates").locator("tbody tr").all()
    assert [tab.text(row).split()[1] for row in rows] == [one["node"] for one in told["candidates"]]


def test_what_if_nodes_go(tab: Tab, cluster: Up) -> None:
    told = whatif(cluster, "drain", "gpu-3", "general-000")["drain"]
    assert told["homeless"] == ["train/model-3"]
    tab.open("#/try?ask=drain&nodes=gpu-3,general-000")
    expect(tab.panel("Answer").locator(".verdict-line")).to_be_visible()
    answer = tab.text(tab.panel("Answer"))
    assert "Not without harm: 1 pod would find no other node." in answer
    moved = [one["pod"] for batch in told["batches"] for one in batch["moved"]]
    rows = tab.page.get_by_role("table", name="What becomes of the pods").locator("tbody tr").all()
    assert sorted(tab.text(row).split()[0] for row in rows) == sorted(moved)
    tab.page.get_by_role("button", name="Untick gpu-3").click()
    assert "Yes: 5 pods would find another node." in press(tab, "What if they go?")


def test_nodes_are_ticked_on_the_heat_map_and_taken_along(tab: Tab) -> None:
    tab.open("#/")
    tab.page.locator(".stage").focus()
    for key in ("Home", "Space", "ArrowRight", "Space"):
        tab.page.keyboard.press(key)
    expect(tab.page.locator(".ticked")).to_contain_text("2 ticked: general-000, general-003")
    tab.follow(tab.page.get_by_role("link", name="What if these go?"), "Try it")
    expect(tab.panel("Nodes that go")).to_contain_text("2 nodes ticked")
    assert "Yes: 10 pods would find another node." in press(tab, "What if they go?")


def test_a_pod_of_the_cluster_is_taken_as_a_model(tab: Tab) -> None:
    tab.open("#/pods/shop/late-00")
    tab.follow(tab.page.get_by_role("link", name="Try a change"), "Try it")
    text = tab.page.locator("#manifest").input_value()
    assert "cpu: 250m" in text
    assert "nodeName" not in text
    assert "Yes, it goes to general-9" in press(tab, "Ask")


def test_a_manifest_that_cannot_be_read_is_refused_with_its_line(tab: Tab) -> None:
    tab.open("#/try?ask=fits")
    tab.page.locator("#manifest").fill("kind: Pod\nspec:\n   - a\n  - b\n")
    tab.page.get_by_role("button", name="Ask", exact=True).click()
    expect(tab.page.get_by_role("alert")).to_contain_text("line 4")


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        pytest.param("nodeSelector", "nodeSelectr", "spec.nodeSelectr: a pod has no such field", id="of the pod"),
        pytest.param(
            "requests", "request", "spec.containers[0].resources.request: a pod has no such field", id="of a container"
        ),
        pytest.param("containers", "initContainers", "spec.containers: a pod needs a container", id="no container"),
    ],
)
def test_a_misspelt_field_is_not_passed_over(tab: Tab, written: str, instead: str, said: str) -> None:
    tab.open("#/try?ask=fits")
    tab.page.locator("#manifest").fill(_FITS.replace(written, instead))
    tab.page.get_by_role("button", name="Ask", exact=True).click()
    expect(tab.page.get_by_role("alert")).to_contain_text(said)


def test_the_fields_of_a_pod_are_those_of_the_releases(tab: Tab) -> None:
    tab.open("#/try")
    known = tab.page.evaluate("import('/page/pod_fields.js').then((file) => file.POD)")
    releases = [release.type_named("io.k8s.api.core.v1.Pod", name) for name in ("1.36", "1.37")]
    assert list(_other_fields(known, releases, "")) == []


def _other_fields(known: dict[str, Any], releases: list[Schema], path: str) -> Iterator[str]:
    """Tell fields that only one side knows, of the types that the page looks into."""
    there = {name for one in releases for name in one.fields}
    yield from (f"{path}{name}" for name in there ^ known.keys())
    for name, within in known.items():
        if within is not None:
            inner = [one.fields[name] for one in releases if name in one.fields]
            yield from _other_fields(within, [one.items or one for one in inner], f"{path}{name}.")


def test_nothing_is_created_by_asking(tab: Tab, cluster: Up) -> None:
    before = cluster.get("/api/v1/pods?limit=1")["metadata"].get("remainingItemCount")
    ask(tab, "fits", _FITS)
    assert cluster.get("/api/v1/pods?limit=1")["metadata"].get("remainingItemCount") == before
    assert cluster.send("GET", "/api/v1/namespaces/shop/pods/trial", None)[0] == 404


def test_a_priority_class_that_is_not_told_of_is_asked_for(tab: Tab) -> None:
    tab.open("#/try?ask=preempt")
    _, _, pod = _URGENT.partition("---\n")
    tab.page.locator("#manifest").fill(pod)
    tab.page.get_by_role("button", name="Ask", exact=True).click()
    expect(tab.page.get_by_role("alert")).to_contain_text("add the PriorityClass to the manifest")


def test_weights_as_they_are_change_nothing(tab: Tab) -> None:
    tab.open("#/try?ask=weights")
    with tab.page.expect_response(lambda answer: answer.url.endswith("/weights")) as asked:
        tab.page.get_by_role("button", name="As they are").click()
    question: Any = asked.value.request.post_data_json
    assert question["last"] == 50
    # Pods that other tests have placed and deleted cannot be asked about.
    expect(tab.page.locator(".verdict-line")).to_have_text(re.compile("^0 of (4[0-9]|50) placements would change.$"))


def test_other_weights_show_which_placements_would_change(tab: Tab, cluster: Up) -> None:
    tab.open("#/try?ask=weights")
    weights = {"NodeResourcesFit": 0, "NodeResourcesBalancedAllocation": 9}
    for plugin, weight in weights.items():
        tab.page.get_by_label(f"Weight of {plugin}, as a number").fill(str(weight))
        expect(tab.page.get_by_label(f"Weight of {plugin}", exact=True)).to_have_value(str(weight))
    question = {"profile": "default-scheduler", "weights": weights, "last": 50}
    _, told = cluster.send("POST", f"{cluster.scheduler}/api/stowplan/v1/weights", question)
    assert told["changed"]
    # Without the score for being empty, where pods are does not matter for being full, only for being even.
    assert {plugin for one in told["changed"] for plugin in one["by"]} == {"NodeResourcesBalancedAllocation"}
    line = tab.page.locator(".verdict-line")
    expect(line).to_have_text(f"{len(told['changed'])} of {told['asked']} placements would change.")
    table = tab.page.get_by_role("grid", name="Placements that would change")
    expect(table).to_have_attribute("aria-rowcount", str(len(told["changed"]) + 1))
    first = min(told["changed"], key=lambda one: str(one["pod"]))
    row = tab.text(tab.rows(table).first).split()
    namespace, _, name = first["pod"].partition("/")
    assert row[:4] == [first["pod"], cluster.node_of(name, namespace), first["from"], first["to"]]
    assert tab.address.endswith("weights=NodeResourcesFit:0,NodeResourcesBalancedAllocation:9")
    tab.reload()
    expect(line).to_have_text(f"{len(told['changed'])} of {told['asked']} placements would change.")


@pytest.mark.parametrize("height", [800, 1600])
def test_every_row_of_a_table_that_is_in_sight_is_there(tab: Tab, height: int) -> None:
    tab.page.set_viewport_size({"width": 1280, "height": height})
    tab.open("#/try?ask=weights&last=100&weights=NodeResourcesFit:0,NodeResourcesBalancedAllocation:9")
    table = tab.page.get_by_role("grid", name="Placements that would change")
    assert int(table.get_attribute("aria-rowcount") or 0) > 40
    lowest_row, edge = table.evaluate(
        """(table) => [
          [...table.querySelectorAll("tbody tr[aria-rowindex]")].at(-1).getBoundingClientRect().bottom,
          table.closest(".scroller").getBoundingClientRect().bottom,
        ]"""
    )
    assert lowest_row >= edge - 2
