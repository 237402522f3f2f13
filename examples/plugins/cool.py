"""Prefers cool nodes: a whole plugin of one's own, kept outside the package."""

from stowplan.framework import Score


class Cool(Score):
    """Scores the distance to 100 degrees; a node says how warm it is in the annotation `example.com/celsius`."""

    columns = {"celsius": lambda node: float(node.metadata.annotations.get("example.com/celsius", 20))}

    def score(self, pod, nodes, state):
        return (100 - nodes.column("celsius")).clip(0, 100)
