"""The view of the cluster and that of the queue: compared with what the API server has."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest
from playwright.sync_api import expect

from tests.integration.up.up_process import Up
from tests.page import world
from tests.page.tab import Tab


def test_the_figures_on_top_are_those_of_the_cluster(tab: Tab) -> None:
    tab.open()
    assert tab.figure("nodes") == "1,000"
    assert tab.figure("pods placed") == "4,990"
    assert tab.figure("pods waiting") == "10"
    assert "as Kubernetes 1.37" in tab.text(tab.page.locator(".totals"))
    tab.expect_connection("Live")


def test_the_heat_map_says_in_words_how_full_the_nodes_are(tab: Tab) -> None:
    tab.open()
    summary = tab.page.locator("#heat-summary")
    # 4,880 pods of half a core, 100 of a quarter, and ten of eight, of 990 nodes of 16 cores and ten of 32.
    assert 0.5 * 4880 + 0.25 * 100 + 8 * 10 == 2545
    assert 990 * 16 + 10 * 32 == 16160
    expect(summary).to_have_text("16 % of cpu requested, 2 cordoned.")
    tab.choice("Show").select_option("memory")
    # One GiB and half of one, and ten times 32, of 990 times 64 and ten times 128.
    assert 4880 + 50 + 320 == 5250
    assert 990 * 64 + 1280 == 64640
    expect(summary).to_have_text("8 % of memory requested, 2 cordoned.")
    tab.choice("Show").select_option(world.GPU)
    expect(summary).to_have_text("100 % of nvidia.com/gpu requested, 10 nodes are nearly full of it, 2 cordoned.")
    tab.choice("as").select_option("free")
    expect(summary).to_have_text("0 % of nvidia.com/gpu free, 10 nodes are nearly full of it, 2 cordoned.")
    assert tab.address == "#/?measure=nvidia.com/gpu&show=free"


def test_the_heat_map_colours_nodes_by_how_full_they_are(tab: Tab) -> None:
    tab.open(f"#/?measure={world.GPU}&group=none")
    seen = {name: Counter(colours) for name, colours in tab.page.evaluate(_COLOURS).items()}
    with_gpus = [colours for name, colours in seen.items() if name.startswith("gpu-") and name not in world.CORDONED]
    others = [colours for name, colours in seen.items() if name.startswith("general-")]
    assert len(with_gpus) == 9
    assert len(others) > 20
    # All GPUs are taken: one colour, which no node has that has none.
    (full,) = {colours.most_common()[0][0] for colours in with_gpus}
    assert not any(full in colours for colours in others)


#: The colours of nodes here and there and along the lower edge, by the name that is told when one points at them.
_COLOURS: Final = """() => {
  const stage = document.querySelector(".stage");
  const canvas = stage.querySelector("canvas");
  const box = canvas.getBoundingClientRect();
  const ratio = canvas.width / box.width;
  const picture = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colourAt = (x, y) => {
    const at = 4 * (Math.round(y * ratio) * canvas.width + Math.round(x * ratio));
    return [...picture.data.slice(at, at + 3)].join();
  };
  const found = {};
  for (let x = 2; x < box.width; x += 4) {
    for (const y of [0.3 * box.height, 0.3 * box.height + 4, box.height - 9, box.height - 5]) {
      stage.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }));
      const tip = stage.querySelector(".tip");
      if (!tip.hidden) (found[tip.querySelector("b").textContent] ??= []).push(colourAt(x, y));
    }
  }
  stage.dispatchEvent(new PointerEvent("pointerleave"));
  return found;
}"""


@pytest.mark.parametrize(
    "address", ["#/?measure=constructor", "#/?as=table&measure=__proto__", "#/try?ask=constructor"]
)
def test_an_address_that_asks_for_what_every_object_has_is_nothing_special(tab: Tab, address: str) -> None:
    tab.open(address)
    # The tab of every test ends with a look at what went wrong in it.
    expect(tab.page.get_by_role("alert")).to_have_count(0)


def test_nodes_are_grouped_by_a_label(tab: Tab) -> None:
    tab.open()
    choice = tab.choice("by")
    expect(choice).to_have_value(world.ZONE)
    choice.select_option("")
    expect(choice).to_have_value("")
    assert tab.address == "#/?group=none"
    tab.reload()
    expect(choice).to_have_value("")


def test_the_table_of_nodes_has_what_the_heat_map_shows(tab: Tab, cluster: Up) -> None:
    tab.open("#/?as=table")
    table = tab.page.get_by_role("grid", name="Nodes")
    expect(table).to_have_attribute("aria-rowcount", "1001")
    first = tab.rows(table).first
    expect(first).to_contain_text("general-000")
    assert "2.5 of 16, 16 %" in tab.text(first)
    assert "5Gi of 64Gi, 8 %" in tab.text(first)
    table.get_by_role("button", name=world.GPU).click()
    expect(tab.rows(table).first).to_contain_text("4 of 4, 100 %")
    table.get_by_role("button", name="Status").click()
    table.get_by_role("button", name="Status").click()
    expect(tab.rows(table).first).to_contain_text("Ready,SchedulingDisabled")
    assert len(tab.rows(table).all()) < 100


def test_who_waits_is_told_by_place_and_with_the_reason(tab: Tab) -> None:
    tab.open()
    queue = tab.panel("Queue")
    assert "unschedulable 6" in tab.text(queue)
    assert "gated 4" in tab.text(queue)
    # Those that are alike are told once, with the one that waits longest.
    line = queue.locator("li", has=tab.page.get_by_role("link", name="shop/huge-"))
    reasons = ", ".join(f"{many} {why}" for why, many in world.HUGE_REASONS.items())
    expect(line).to_contain_text(f"5 pods: {reasons}")
    link = line.get_by_role("link")
    tab.follow(link, link.inner_text())


def test_the_newest_decisions_are_told(tab: Tab, cluster: Up) -> None:
    tab.open()
    newest = tab.panel("Newest decisions")
    expect(newest.locator("li")).to_have_count(40)
    placed = newest.locator("li", has_text="placed").first
    pod, node = (placed.locator("a").nth(at).inner_text() for at in range(2))
    namespace, _, name = pod.partition("/")
    assert cluster.node_of(name, namespace) == node


def test_what_is_decided_shows_up_by_itself(tab: Tab, cluster: Up) -> None:
    tab.open()
    made = world.pod("shop", "fresh", {"cpu": "250m"})
    assert cluster.send("POST", "/api/v1/namespaces/shop/pods", made)[0] == 201
    tab.expect_figure("pods placed", "4,991")
    expect(tab.panel("Newest decisions").get_by_role("link", name="shop/fresh")).to_be_visible()
    assert cluster.send("DELETE", "/api/v1/namespaces/shop/pods/fresh", None)[0] == 200
    tab.expect_figure("pods placed", "4,990")


def test_the_queue_lists_all_that_wait_and_narrows_it_down(tab: Tab, cluster: Up) -> None:
    tab.open("#/queue")
    table = tab.page.get_by_role("grid", name="Pods that wait")
    expect(table).to_have_attribute("aria-rowcount", "11")
    waiting = {
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        for pod in cluster.get("/api/v1/pods?fieldSelector=spec.nodeName=")["items"]
    }
    assert set(table.locator("tbody a").all_inner_texts()) == waiting
    tab.page.get_by_label("Part of a name").fill("huge")
    expect(table).to_have_attribute("aria-rowcount", "6")
    tab.page.get_by_label("Part of a name").fill("")
    tab.choice("Place").select_option("gated")
    expect(table).to_have_attribute("aria-rowcount", "5")
    assert tab.address == "#/queue?place=gated"
    tab.page.get_by_label("Namespace").fill("train")
    expect(table).to_have_attribute("aria-rowcount", "4")
    tab.follow(table.get_by_role("link", name="train/gang-0"), "train/gang-0")


def test_the_search_finds_pods_and_nodes(tab: Tab) -> None:
    tab.open("#/queue")
    tab.page.locator("h1").click()
    tab.page.keyboard.press("/")
    field = tab.page.get_by_role("combobox", name="Search pods and nodes")
    expect(field).to_be_focused()
    field.fill("gpu-7")
    expect(tab.page.get_by_role("option").first).to_contain_text("gpu-7")
    field.press("Enter")
    expect(tab.page.locator("#content h1")).to_have_text("gpu-7")
    field.fill("Late-42")
    option = tab.page.get_by_role("option", name="shop/late-42")
    option.click()
    expect(tab.page.locator("#content h1")).to_have_text("shop/late-42")
