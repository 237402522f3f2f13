"""A notebook as a script: does packing pods tightly leave larger holes than spreading them?

Run it with `python examples/workbench.py`, or cell by cell in an editor that knows `# %%`; in a notebook, the last line of
a cell shows itself. docs/workbench.md explains what is used here.
"""

# %% A cluster, and the pods that wait
from stowplan import Cluster, make_node, make_pod

NODES = [make_node(f"node-{number}").capacity(cpu=8, memory="32Gi", pods=110).build() for number in range(4)]
PODS = [make_pod(f"web-{number}").requests(cpu=2, memory="2Gi").build() for number in range(8)]


# %% The same pods under two profiles: the default one spreads them, the other packs them
def config(strategy):
    resources = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
    arguments = {"scoringStrategy": {"type": strategy, "resources": resources}}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "pluginConfig": [{"name": "NodeResourcesFit", "args": arguments}],
                "plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
            }
        ],
    }


def filled(strategy):
    cluster = Cluster(config(strategy), ties="upstream")
    cluster.add_all(NODES)
    placements = cluster.schedule_all(PODS)
    return cluster, placements


# %% Where did they go, and what is left for a pod that wants six cores?
LARGE = make_pod("large").requests(cpu=6, memory="2Gi").build()

for strategy in ("LeastAllocated", "MostAllocated"):
    cluster, placements = filled(strategy)
    print(f"{strategy}: {placements}")
    print("  pods by node:", {node: len(pods) for node, pods in sorted(placements.by_node().items())})
    print("  cores free:  ", (cluster.nodes_frame()["cpu_free"] / 1000).tolist())
    print(f"  utilisation of cpu: {cluster.utilisation()['cpu']:.0%}")
    print(f"  free cpu that a pod of six cores cannot use: {cluster.fragmentation(LARGE)['cpu']:.0%}")
    print("  the large pod:", cluster.schedule(LARGE).node_name)

# %% The placements as a table; `.to_pandas()` and `.to_polars()` make one of theirs
print(cluster.placements_frame().to_csv())
