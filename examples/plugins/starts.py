"""Counts how often pods of a namespace were started: a plugin with arguments and with a state of its own."""

from collections import Counter

from stowplan.framework import Requeue, Reserve, Undoable, refuse


class Starts(Reserve, Undoable, Requeue):
    """A namespace may be given a node `most` times until the scheduler is started anew; a start that fails counts, too."""

    def __init__(self, most: int = 100):
        self._most = most
        self._started = Counter()

    def reserve(self, pod, node_name):
        namespace = pod.metadata.namespace
        if self._started[namespace] >= self._most:
            return refuse(f"namespace {namespace} has been started {self._most} times")
        self._started[namespace] += 1

    def unreserve(self, pod, node_name):
        """Give nothing back: a start that fails counts."""

    def events(self):
        # Nothing that happens in the cluster helps.
        return ()

    def save_state(self):
        return Counter(self._started)

    def restore_state(self, saved):
        self._started = Counter(saved)
