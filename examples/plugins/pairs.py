"""Lets two pods start together or not at all: a plugin that holds pods at Permit."""

from stowplan.framework import Action, Awaited, Handle, Permit, Requeue, Wait


def partner_of(pod):
    return pod.metadata.annotations.get("example.com/together-with", "")


class Pairs(Permit, Requeue):
    """A pod that names another one of its namespace in an annotation waits, with its node, until that has one, too."""

    def __init__(self, handle: Handle, seconds: int = 60):
        self._handle, self._seconds = handle, seconds

    def permit(self, pod, node_name):
        if not partner_of(pod):
            return None
        partner = f"{pod.metadata.namespace}/{partner_of(pod)}"
        for waiting in self._handle.waiting_pods:
            if waiting.pod.key == partner:
                waiting.allow(self.name)
                return None
        has_node = any(placed.pod.key == partner for placed in self._handle.pods.pods())
        return None if has_node else Wait(self._seconds)

    def events(self):
        return (Awaited("Pod", Action.ADD, lambda pod, old, new: new.metadata.name == partner_of(pod)),)
