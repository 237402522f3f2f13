"""All that a cluster is, in a form that can be compared: what has to be as before when a supposition is over."""

from __future__ import annotations

from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.framework.contract import POINTS, Undoable
from stowplan.framework.per_node import unwrapped


def fingerprint(cluster: Cluster) -> dict[str, Any]:
    """Return every fact that a decision may depend on, in the order in which it is kept."""
    cache, table, nominations = cluster.cache, cluster.cache.table, cluster.handle.nominations
    groups, tree = cache.groups, table.tree
    # To ask for the order is to settle it.
    order = [table.nodes[row].name for row in table.order()]
    return {
        "rows": list(table.nodes),
        "zones": [(zone, list(names)) for zone, names in tree._zones.items()],
        "walk": list(tree._walk),
        "order": order,
        "pods": {
            identity: (placed.pod, placed.node_name, placed.is_assumed) for identity, placed in cache._placed.items()
        },
        "pods of nodes": {name: list(pods) for name, pods in cache._on_node.items()},
        "by importance": {name: [one.pod.key for one in cache.by_importance(name)] for name in cache._on_node},
        "objects": {kind: _objects(store) for kind, store in cache.objects._stores.items() if _objects(store)},
        "groups": [_filled(each) for each in (groups._groups, groups._members, groups._scheduled, groups._children)],
        "groups of pods": groups._groups_of,
        "nominations": (_filled(nominations.by_node), nominations._node_of),
        "pending": (cluster._pending._pods, cluster._pending.unplaced),
        "amounts": _amounts(cluster),
        "images": (table.images._size, table.images._holders),
        "claims": (cluster.handle.claims.saved(), dict(cluster.handle.claims.allocated._devices)),
        "plugins": _plugin_states(cluster),
        "draws": (cluster.field.sampler._start, cluster.handle.draw.__self__.getstate()),  # type: ignore[attr-defined]
    }


def _objects(store: Any) -> Any:
    shown = {namespace: list(found.items()) for namespace, found in store.by_namespace.items() if found}
    return (shown, dict(store.real)) if shown or store.real else None


def _filled(mapping: Any) -> Any:
    return {key: list(found.items()) if isinstance(found, dict) else found for key, found in mapping.items() if found}


def _amounts(cluster: Cluster) -> dict[str, Any]:
    """What nodes have and what is taken; resources that somebody only asked about do not count."""
    resources = cluster.cache.table.resources
    both = {
        name: (resources.allocatable[index].tolist(), resources.requested[index].tolist())
        for name, index in resources.index_of.items()
    }
    return {name: amounts for name, amounts in both.items() if any(map(any, amounts))}


def _plugin_states(cluster: Cluster) -> dict[tuple[str, str], Any]:
    found = {}
    for profile in cluster.profiles.values():
        for point in POINTS:
            for plugin in getattr(profile, point):
                inside = unwrapped(plugin[0] if isinstance(plugin, tuple) else plugin)
                if isinstance(inside, Undoable):
                    found[profile.name, inside.name] = inside.save_state()
    return found
