"""Keeps nodes for a team: a filter that answers for one node at a time."""

from stowplan.framework import FilterNode


class OwnTeam(FilterNode):
    """A node with the label `example.com/team` takes only pods of the namespace of that name."""

    def filter_node(self, pod, node, state):
        team = node.labels.get("example.com/team", "")
        if team in ("", pod.metadata.namespace):
            return None
        return "node(s) were kept for another team"
