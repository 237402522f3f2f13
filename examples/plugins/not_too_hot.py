"""Rejects nodes that are too hot: a filter with arguments, and with a hint that says when to look again."""

from stowplan.config.declarations import PluginArgs
from stowplan.config.errors import child, invalid
from stowplan.framework import Action, Awaited, Filter, Requeue, reject


def celsius(node):
    return float(node.metadata.annotations.get("example.com/celsius", 20))


class NotTooHotArgs(PluginArgs, frozen=True):
    most_celsius: int = 60

    def faults(self, path, gates):
        if 0 < self.most_celsius <= 100:
            return []
        return [invalid(child(path, "mostCelsius"), self.most_celsius, "not in valid range (0, 100]")]


class NotTooHot(Filter, Requeue):
    """A node says how warm it is in the annotation `example.com/celsius`; the argument `mostCelsius` is the limit."""

    args_type = NotTooHotArgs
    columns = {"celsius": celsius}
    # What is said of a node depends on that node alone, and not on the pods there.
    looks_at_rows_alone = True
    looks_at_pods = False

    def __init__(self, args=NotTooHotArgs()):
        self._most = args.most_celsius

    def filter(self, pod, nodes, state):
        yield reject(nodes.column("celsius") > self._most, "node(s) were too hot", unresolvable=True)

    def events(self):
        return (Awaited("Node", Action.ADD | Action.UPDATE_NODE_ANNOTATION, self._has_cooled),)

    def _has_cooled(self, pod, old, new):
        return celsius(new) <= self._most and (old is None or celsius(old) > self._most)
