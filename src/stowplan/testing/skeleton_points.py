"""What a plugin of each extension point begins with: a rule that is small, works, and is there to be replaced.

`skeleton` puts it into files. All of them look at one annotation of a node or label of a pod, so that an edit shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PointSkeleton:
    """The class and the test of one extension point; CLASS stands for the name of the class."""

    #: What the class inherits, and what else of `stowplan.framework` it uses.
    inherits: str
    uses: tuple[str, ...]
    #: What the class says of itself, and its body.
    rule: str
    body: str
    #: A test of what becomes of pods on a cluster with it; "cluster", "place" and "POD" are there.
    test: str
    #: Where configurations enable it.
    enabled_at: str = "multiPoint"


_TWO_NODES: Final = """    cluster.add(make_node("plain").capacity(cpu="8", memory="8Gi", pods=110).build())
    cluster.add(make_node("wanted").capacity(cpu="8", memory="8Gi", pods=110).label("zone", "a").build())
"""

POINTS: Final[dict[str, PointSkeleton]] = {
    "filter": PointSkeleton(
        "FilterNode",
        ("FilterNode",),
        "Rejects nodes that are not in the zone that a pod names in its label `zone`.",
        """    def filter_node(self, pod, node, state):
        wanted = pod.metadata.labels.get("zone")
        if wanted is None or node.labels.get("zone") == wanted:
            return None
        return f"node(s) not in zone {wanted}"
""",
        f"""def test_a_pod_goes_to_its_zone():
    cluster = make_cluster()
{_TWO_NODES}    assert cluster.schedule(POD.label("zone", "a").build()).node_name == "wanted"


def test_who_names_a_zone_that_is_not_there_is_told_so():
    cluster = make_cluster()
{_TWO_NODES}    refused = cluster.schedule(POD.label("zone", "b").build())
    assert refused.message.startswith("0/2 nodes are available: 2 node(s) not in zone b.")
""",
    ),
    "score": PointSkeleton(
        "ScoreNode",
        ("ScoreNode",),
        "Prefers nodes in the zone that a pod names in its label `zone`.",
        """    def score_node(self, pod, node, state):
        return 100 if node.labels.get("zone") == pod.metadata.labels.get("zone") else 0
""",
        f"""def test_a_pod_prefers_its_zone():
    cluster = make_cluster()
{_TWO_NODES}    explained = cluster.explain(POD.label("zone", "a").build())
    assert explained.nodes["wanted"].scores["CLASS"].raw == 100
    assert explained.nodes["plain"].scores["CLASS"].raw == 0
""",
    ),
    "pre_enqueue": PointSkeleton(
        "PreEnqueue",
        ("PreEnqueue", "refuse"),
        "Keeps pods out of the queue until they say whose they are, in the label `team`.",
        """    def pre_enqueue(self, pod):
        return None if "team" in pod.metadata.labels else refuse("label the pod with its team")
""",
        f"""def test_a_pod_without_a_team_is_held_back():
    cluster = make_cluster()
{_TWO_NODES}    assert "label the pod with its team" in cluster.schedule(POD.build()).message
    assert cluster.schedule(POD.label("team", "red").build()).node_name
""",
    ),
    "pre_filter": PointSkeleton(
        "PreFilter",
        ("Narrowed", "PreFilter", "SKIP"),
        "Leaves a pod only the node that it names in its label `node`.",
        """    def pre_filter(self, pod, nodes):
        wanted = pod.metadata.labels.get("node")
        return SKIP if wanted is None else Narrowed(frozenset((wanted,)))
""",
        f"""def test_a_pod_goes_to_the_node_that_it_names():
    cluster = make_cluster()
{_TWO_NODES}    assert cluster.schedule(POD.label("node", "plain").build()).node_name == "plain"
""",
    ),
    "post_filter": PointSkeleton(
        "PostFilter",
        ("PostFilter", "refuse"),
        "Says of a pod that fits nowhere whom to ask; evicts nobody.",
        """    def post_filter(self, pod, attempt):
        return refuse("ask the owners of the cluster for another node", unresolvable=False)
""",
        """def test_a_pod_that_fits_nowhere_is_told_whom_to_ask():
    cluster = make_cluster()
    cluster.add(make_node("full").capacity(cpu="1", memory="8Gi", pods=110).build())
    told = cluster.schedule(POD.requests(cpu="2").build()).message
    assert "ask the owners of the cluster for another node" in told
""",
    ),
    "reserve": PointSkeleton(
        "Reserve",
        ("Reserve", "refuse"),
        "Gives each pod one of a few licences that all nodes share.",
        """    def __init__(self, licences: int = 10) -> None:
        self.licences = licences
        self.holders = set()

    def reserve(self, pod, node_name):
        if len(self.holders) >= self.licences:
            return refuse("no licence is left", unresolvable=False)
        self.holders.add(pod.key)

    def unreserve(self, pod, node_name):
        self.holders.discard(pod.key)
""",
        f"""def test_there_are_no_more_pods_than_licences():
    cluster = make_cluster()
{_TWO_NODES}    results = [cluster.schedule(POD.name(f"p{{number}}").build()) for number in range(11)]
    assert all(result.node_name for result in results[:10])
    assert "no licence is left" in results[10].message
""",
    ),
    "permit": PointSkeleton(
        "Permit",
        ("Permit", "Wait", "refuse"),
        "Holds pods with the label `hold` for a minute, for somebody to allow them; refuses those that say `never`.",
        """    def permit(self, pod, node_name):
        hold = pod.metadata.labels.get("hold")
        if hold == "never":
            return refuse("the pod is never to be bound", unresolvable=False)
        return None if hold is None else Wait(60)
""",
        """def test_it_lets_go_holds_or_refuses():
    plugin = CLASS()
    assert plugin.permit(POD.build(), "n") is None
    assert plugin.permit(POD.label("hold", "a while").build(), "n").timeout_seconds == 60
    assert plugin.permit(POD.label("hold", "never").build(), "n").reasons == ("the pod is never to be bound",)
""",
    ),
    "pre_bind": PointSkeleton(
        "PreBind",
        ("PreBind", "SKIP", "refuse"),
        "Prepares what pods with the label `prepare` need on their node, before they are bound.",
        """    def pre_bind_pre_flight(self, pod, node_name):
        return None if "prepare" in pod.metadata.labels else SKIP

    async def pre_bind(self, pod, node_name):
        if pod.metadata.labels["prepare"] == "nonsense":
            return refuse("nobody knows how to prepare nonsense", unresolvable=False)
""",
        """def test_nonsense_is_refused():
    plugin = CLASS()
    assert asyncio.run(plugin.pre_bind(POD.label("prepare", "disk").build(), "n")) is None
    refused = asyncio.run(plugin.pre_bind(POD.label("prepare", "nonsense").build(), "n"))
    assert refused.reasons == ("nobody knows how to prepare nonsense",)
""",
    ),
    "post_bind": PointSkeleton(
        "PostBind",
        ("PostBind",),
        "Counts the pods that were bound, by node.",
        """    def __init__(self) -> None:
        self.bound = {}

    async def post_bind(self, pod, node_name):
        self.bound[node_name] = self.bound.get(node_name, 0) + 1
""",
        """def test_pods_are_counted_where_they_are_bound():
    plugin = CLASS()
    asyncio.run(plugin.post_bind(POD.build(), "n"))
    assert plugin.bound == {"n": 1}
""",
    ),
    "queue_sort": PointSkeleton(
        "QueueSort",
        ("QueueSort",),
        "Has important pods tried first; those that are alike, in the order in which they came.",
        """    def sort_key(self, pod, queued_at):
        return -pod.priority, queued_at
""",
        """def test_of_two_pods_alike_the_first_comes_first():
    plugin = CLASS()
    assert plugin.sort_key(POD.build(), 1) < plugin.sort_key(POD.build(), 2)
""",
        "queueSort",
    ),
}
