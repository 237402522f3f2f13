"""The views of one pod, one node and one group, clicked through and compared with what was made of them."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.integration.up.up_process import Up
from tests.page import world
from tests.page.tab import DESKTOP, Tab

_PODS = "/api/v1/namespaces/shop/pods"
_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/shop/podgroups"


def test_a_pod_that_fits_nowhere_says_why_and_how_many_nodes_each_filter_leaves(tab: Tab) -> None:
    tab.open("#/pods/shop/huge-0")
    expect(tab.page.locator(".lead")).to_contain_text(f"It fits no node: {world.HUGE_MESSAGE}.")
    lines = tab.panel("Which nodes are left").locator("li")
    assert [tab.text(line) for line in lines.all()] == [
        "All nodes 1,000",
        "NodeUnschedulable −2 998 2 × node(s) were unschedulable",
        "TaintToleration −9 989 9 × node(s) had untolerated taint(s)",
        "NodeResourcesFit −989 0 989 × Insufficient cpu",
        "Feasible 0",
    ]
    # Nothing that is there is large enough, so it would have to be smaller.
    assert "989 nodes would fit with" in tab.text(tab.panel("What would help"))


def test_every_node_is_listed_with_every_reason_and_can_be_sorted_and_filtered(tab: Tab) -> None:
    tab.open("#/pods/shop/huge-0")
    table = tab.page.get_by_role("grid", name="Nodes and plugins")
    expect(table).to_have_attribute("aria-rowcount", "1001")
    assert len(tab.rows(table).all()) < 100
    field = tab.page.get_by_label("Part of a name or reason")
    field.fill("untolerated")
    # Nine with GPUs; and the cordoned ones, which have a taint that says so.
    expect(table).to_have_attribute("aria-rowcount", "12")
    field.fill("gpu-9")
    expect(table).to_have_attribute("aria-rowcount", "2")
    row = tab.text(tab.rows(table))
    assert "gpu-9" in row
    for reason in world.HUGE_REASONS:
        assert reason in row
    tab.reload()
    expect(field).to_have_value("gpu-9")
    expect(table).to_have_attribute("aria-rowcount", "2")
    field.fill("")
    tab.choice("Nodes").select_option("feasible")
    expect(tab.rows(table)).to_have_count(0)
    tab.choice("Nodes").select_option("refused")
    expect(table).to_have_attribute("aria-rowcount", "1001")
    table.get_by_role("button", name="Node", exact=True).click()
    table.get_by_role("button", name="Node", exact=True).click()
    expect(table.locator("tbody tr a").first).to_have_text("gpu-9")


def test_a_placed_pod_is_compared_with_any_other_node_plugin_by_plugin(tab: Tab, cluster: Up) -> None:
    own = cluster.node_of("late-00", "shop")
    beside = len(cluster.get(f"/api/v1/pods?fieldSelector=spec.nodeName={own}")["items"])
    tab.open("#/pods/shop/late-00?against=general-500")
    expect(tab.page.locator(".lead")).to_contain_text(f"It is on {own}")
    compared = tab.panel("The winner against another")
    lines = [tab.text(line).split() for line in compared.locator("tbody tr").all()]
    scores = {name: (int(first), int(second)) for name, _, first, second, _ in lines[:-1]}
    # What would be free of cores and of GiB: where only pods like it are, and beside five of half a core.
    assert scores["NodeResourcesFit"] == (emptiness(beside / 4, beside / 2), emptiness(2.5 + 0.25, 5 + 0.5))
    # It tolerates all taints of both, which counts three times.
    assert scores["TaintToleration"] == (300, 300)
    assert lines[-1][:3] == ["Total", *(str(sum(column)) for column in zip(*scores.values(), strict=True))]
    tab.page.get_by_role("combobox", name="Compare with").fill("general-50")
    tab.page.get_by_role("option", name="general-501").click()
    expect(compared.locator("thead")).to_contain_text("general-501")
    assert tab.address == "#/pods/shop/late-00?against=general-501"


def emptiness(cores: float, gibibytes: float) -> int:
    """Return the score of a node of 16 cores and 64 GiB of which so much is requested."""
    return (int(100 * (16 - cores) / 16) + int(100 * (64 - gibibytes) / 64)) // 2


def test_a_pod_says_whom_it_would_push_out(tab: Tab) -> None:
    tab.open("#/pods/train/chief")
    victims = tab.panel("Whom it would push out")
    assert "Evicting 1 pod makes room on gpu-3." in tab.text(victims)
    tab.follow(victims.get_by_role("link", name=world.NEXT_VICTIM), world.NEXT_VICTIM)


def test_an_attempt_of_the_past_has_an_address_of_its_own(tab: Tab) -> None:
    tab.open("#/pods/train/urgent")
    attempts = tab.panel("In the queue").locator("ol.attempts > li")
    expect(attempts).to_have_count(2)
    expect(attempts.first).to_contain_text("placed on gpu-7")
    expect(attempts.last).to_contain_text("makes room on gpu-7")
    attempts.last.locator("a").first.click()
    past = tab.panel("Attempt at")
    expect(past).to_contain_text("998")
    assert "Insufficient nvidia.com/gpu 998" in tab.text(past)
    assert "?attempt=" in tab.address
    tab.reload()
    assert "Insufficient nvidia.com/gpu 998" in tab.text(past)
    past.get_by_role("link", name="Show it as of now").click()
    expect(past).to_have_count(0)


def test_an_attempt_that_is_not_kept_is_told_to_be_so(tab: Tab) -> None:
    tab.open("#/pods/train/urgent?attempt=1-2")
    expect(tab.page.locator("#content")).to_contain_text("That attempt is not kept any more")


def test_the_manifest_is_what_the_api_server_has(tab: Tab, cluster: Up) -> None:
    tab.open("#/pods/shop/gated")
    text = tab.page.get_by_label("Manifest as YAML").inner_text()
    has = cluster.get("/api/v1/namespaces/shop/pods/gated")
    for word in ("kind: Pod", "name: gated", "namespace: shop", has["metadata"]["uid"], "name: example.com/data"):
        assert word in text
    expect(tab.page.locator(".lead")).to_contain_text("It is held back by SchedulingGates")


def test_a_node_says_what_is_on_it_and_what_is_free(tab: Tab, cluster: Up) -> None:
    tab.open("#/nodes/general-000")
    there = cluster.get("/api/v1/pods?fieldSelector=spec.nodeName=general-000")["items"]
    assert len(there) == 5
    pods = tab.page.get_by_role("grid", name="Pods on this node")
    assert set(pods.locator("tbody a").all_inner_texts()) == {f"shop/{pod['metadata']['name']}" for pod in there}
    requested = tab.text(tab.panel("Requested"))
    assert "cpu 2.5 of 16, 16 %" in requested
    assert "memory 5Gi of 64Gi, 8 %" in requested
    assert "pods 5 of 110, 5 %" in requested
    assert "Free: 13.5 cpu, 59Gi memory, 105 pods" in tab.text(tab.panel("Free, and for whom"))
    expect(tab.panel("Labels")).to_contain_text(world.ZONE)


def test_a_node_says_who_was_refused_there_and_why(tab: Tab) -> None:
    tab.open("#/nodes/gpu-7")
    refused = tab.panel("Refused here lately")
    line = refused.locator("tr", has_text="shop/huge-0")
    expect(line).to_contain_text("TaintToleration")
    expect(line).to_contain_text("node(s) had untolerated taint(s)")
    tab.follow(line.get_by_role("link"), "shop/huge-0")
    tab.page.go_back()
    expect(tab.page.locator("h1")).to_have_text("gpu-7")


def test_a_group_says_who_is_missing(tab: Tab) -> None:
    tab.open("#/pods/train/gang-0")
    tab.follow(tab.page.get_by_role("link", name="train/gang").first, "train/gang")
    expect(tab.page.locator(".lead")).to_contain_text("is not tried before 4 of its pods are there")
    members = tab.text(tab.panel("Members"))
    assert "needed at the same time 4" in members
    assert "without a node 3" in members
    there = tab.page.get_by_role("grid", name="Members").locator("tbody a")
    assert sorted(there.all_inner_texts()) == [f"train/gang-{number}" for number in range(3)]


def test_a_group_is_shown_as_it_is_now(tab: Tab, cluster: Up) -> None:
    group = {"metadata": {"name": "grows"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
    first, second = (
        world.pod("shop", f"grows-{number}", {"cpu": "250m"}, schedulingGroup={"podGroupName": "grows"})
        for number in range(2)
    )
    assert cluster.send("POST", _GROUPS, group)[0] == 201
    assert cluster.send("POST", _PODS, first)[0] == 201
    try:
        tab.open("#/groups/shop/grows")
        lead = tab.page.locator(".lead")
        expect(lead).to_contain_text("It is not tried before 2 of its pods are there.")
        assert cluster.send("POST", _PODS, second)[0] == 201
        expect(lead).to_contain_text("It is placed: all 2 pods of it have a node.")
    finally:
        tab.open("#/queue")
        for path in (f"{_PODS}/grows-0", f"{_PODS}/grows-1", f"{_GROUPS}/grows"):
            cluster.send("DELETE", path, None)


def test_a_pod_for_which_there_are_nodes_but_not_for_its_group_is_not_told_to_go_to_one(tab: Tab, cluster: Up) -> None:
    group = {"metadata": {"name": "pair"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
    together = {"schedulingGroup": {"podGroupName": "pair"}}
    assert cluster.send("POST", _GROUPS, group)[0] == 201
    for name, cpu in (("pair-0", "1"), ("pair-1", "999")):
        made = world.pod("shop", name, {"cpu": cpu}, **together)
        assert cluster.send("POST", _PODS, made)[0] == 201
    try:
        tab.open("#/pods/shop/pair-0")
        lead = tab.page.locator(".lead")
        expect(lead).to_contain_text("minCount (2) cannot be satisfied: 1 scheduled, 0 remaining")
        expect(lead).to_contain_text("It gets a node together with its group shop/pair: pod group is unschedulable")
        expect(lead).to_contain_text("Alone, it would fit 989 nodes.")
        expect(lead).not_to_contain_text("goes to")
    finally:
        for path in (f"{_PODS}/pair-0", f"{_PODS}/pair-1", f"{_GROUPS}/pair"):
            cluster.send("DELETE", path, None)


@pytest.mark.parametrize("address", ["#/pods/shop/none", "#/nodes/none", "#/groups/shop/none"])
def test_what_is_not_there_is_told_to_be_so(tab: Tab, address: str) -> None:
    tab.open(address)
    notice = tab.page.get_by_role("alert")
    expect(notice).to_contain_text("none")
    expect(notice.get_by_role("button", name="Try again")).to_be_visible()
    # The browser writes what was answered with 404 to its console.
    assert [fault for fault in tab.faults if "404" not in fault] == []
    tab.faults.clear()


@pytest.mark.parametrize("address", ["#/pods/shop/..", "#/pods/%2e%2e/cluster", "#/nodes/."])
def test_no_name_leads_out_of_the_path_that_is_asked_for(tab: Tab, address: str) -> None:
    tab.open(address)
    expect(tab.page.locator("h1")).to_have_text("There is no such page")


def test_a_name_of_253_letters_leaves_room_for_what_is_beside_it(tab: Tab, cluster: Up) -> None:
    name = ".".join(("a-" + 61 * "b", 63 * "c", 63 * "d", 61 * "e"))
    assert cluster.send("POST", _PODS, world.pod("shop", name, {"cpu": "999"}))[0] == 201
    try:
        cluster.until(lambda: "conditions" in cluster.get(f"{_PODS}/{name}")["status"])
        tab.open("#/nodes/general-000")
        line = tab.panel("Refused here lately").locator("tr", has_text=name)
        expect(line.get_by_text("Insufficient cpu")).to_be_in_viewport()
        box = line.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= DESKTOP["width"]
    finally:
        cluster.send("DELETE", f"{_PODS}/{name}", None)


def test_an_address_of_no_view_leads_to_the_cluster(tab: Tab) -> None:
    tab.open("#/nowhere/at/all")
    tab.follow(tab.page.get_by_role("link", name="Go to the cluster"), "Cluster")
