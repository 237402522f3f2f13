"""A pod as the controllers know it, for tests to vary."""

from stowplan.embedded.informers.pods import KnownPod

PLAIN = KnownPod(
    namespace="default",
    name="plain",
    uid="plain",
    labels={},
    annotations={},
    owner=None,
    node="n",
    target="n",
    phase="Running",
    created=100.0,
    started=100.0,
    ready_since=100.0,
    is_ready=True,
    is_terminating=False,
    grace_seconds=0,
    restarts=0,
    finalizers=(),
    tolerations=(),
)
