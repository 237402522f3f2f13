"""The funnel, and all nodes for one pod as columns, agree with what is said of each node."""

from stowplan.app.cluster import Cluster
from stowplan.observe.explanation import Explanation
from stowplan.testing import make_node, make_pod
from stowplan.web.funnel import funnel
from stowplan.web.pod_nodes import pod_nodes


def cluster() -> Cluster:
    found = Cluster()
    found.add(make_node("small").capacity(cpu="1", memory="8Gi", pods=9).build())
    found.add(make_node("tainted").capacity(cpu="1", memory="8Gi", pods=9).taint("only", "gpu").build())
    found.add(make_node("empty").capacity(cpu="8", memory="8Gi", pods=9).build())
    found.add(make_node("busy").capacity(cpu="8", memory="8Gi", pods=9).build())
    found.add(make_pod("other").requests(cpu="4").on("busy").build())
    return found


def explained() -> Explanation:
    return cluster().explain(make_pod("a").requests(cpu="2").build())


def test_each_filter_has_the_nodes_that_it_is_the_first_to_refuse() -> None:
    steps = funnel(explained())
    assert [(one.plugin, one.refused, one.left) for one in steps] == [
        ("", 0, 4),
        ("TaintToleration", 1, 3),
        ("NodeResourcesFit", 1, 2),
    ]
    assert [(one.reason, one.nodes) for one in steps[2].reasons] == [("Insufficient cpu", 1)]


def test_the_funnel_begins_with_the_nodes_that_pre_filter_leaves() -> None:
    pod = make_pod("a").node_affinity("metadata.name", "In", "busy").build()
    (step, *_) = funnel(cluster().explain(pod))
    assert step.plugin == ""


def test_columns_say_what_is_said_of_each_node() -> None:
    explanation = explained()
    found = pod_nodes(explanation)
    for row, name in enumerate(found.names):
        report = explanation.nodes[name]
        assert found.feasible[row] == report.is_feasible
        assert found.total[row] == report.total
        first = found.first_plugin[row]
        assert (found.plugins[first].name if first >= 0 else None) == (report.first.plugin if report.first else None)
        said = [(found.reasons[code].plugin, found.reasons[code].text) for code in found.reason_codes[row]]
        assert said == [(one.plugin, reason) for one in report.rejections for reason in one.reasons]
        scores = {one.name: one.weighted[row] for one in found.plugins if one.weight is not None}
        expected = {plugin: score.weighted for plugin, score in report.scores.items()}
        assert {plugin: score for plugin, score in scores.items() if score is not None} == expected


def test_plugins_that_only_reject_come_last_and_have_no_columns() -> None:
    world = cluster()
    world.add(make_node("shut").capacity(cpu="8", memory="8Gi", pods=9).cordon().build())
    found = pod_nodes(world.explain(make_pod("a").requests(cpu="2").build()))
    last = found.plugins[-1]
    assert (last.name, last.weight, last.raw) == ("NodeUnschedulable", None, [])
    assert all(one.weight is not None for one in found.plugins[:-1])
    assert found.plugins[found.first_plugin[found.names.index("shut")]] is last
