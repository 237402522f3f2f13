"""Makes pods from a template and deletes them, with the events that tell of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from stowplan.embedded.controllers.claims import Claimant
from stowplan.embedded.following import resources
from stowplan.embedded.following.events import Recorder
from stowplan.embedded.following.pods import KnownPod
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api

#: What the API server leaves of a name to put five random characters behind.
_LONGEST_PREFIX = 58


@dataclass(slots=True)
class PodMaker:
    """Makes and ends the pods of one controller."""

    api: Api
    recorder: Recorder

    def create(self, claimant: Claimant, pod: Object) -> None:
        """Create a pod for its owner; if the API refuses, say so on the owner and raise the refusal."""
        resource = resources.pods(self.api)
        try:
            created = self.api.create(resource, claimant.namespace, pod)
        except StatusError as error:
            # A namespace on its way out refuses everything, and everybody in it goes too.
            if not is_namespace_going(error):
                message = f"Error creating: {error.message}"
                self.recorder.warning(claimant.resource, claimant.obj, "FailedCreate", message)
            raise
        message = f"Created pod: {created['metadata']['name']}"
        self.recorder.normal(claimant.resource, claimant.obj, "SuccessfulCreate", message)

    def delete(self, claimant: Claimant, pod: KnownPod) -> None:
        """Delete a pod of its owner; one that is gone already is fine."""
        try:
            self.api.delete(resources.pods(self.api), *pod.key, {"preconditions": {"uid": pod.uid}})
        except StatusError as error:
            if error.code in (404, 409):
                return
            message = f"Error deleting: {error.message}"
            self.recorder.warning(claimant.resource, claimant.obj, "FailedDelete", message)
            raise
        self.recorder.normal(claimant.resource, claimant.obj, "SuccessfulDelete", f"Deleted pod: {pod.name}")


@dataclass(slots=True)
class Naming:
    """How a pod made from a template is called, and what is added to the template's labels and annotations."""

    name: str = ""
    prefix: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


def pod_from(template: Object, claimant: Claimant, naming: Naming | None = None) -> Object:
    """Make a pod from a template, whose parts it shares; without a name of its own it is called after its owner."""
    naming = naming or Naming()
    meta = template.get("metadata") or {}
    prefix = naming.prefix or claimant.obj["metadata"]["name"]
    named = {"name": naming.name} if naming.name else {"generateName": f"{prefix[:_LONGEST_PREFIX]}-"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **named,
            "namespace": claimant.namespace,
            "labels": {**(meta.get("labels") or {}), **naming.labels},
            "annotations": {**(meta.get("annotations") or {}), **naming.annotations},
            "finalizers": list(meta.get("finalizers") or []),
            "ownerReferences": [claimant.reference],
        },
        "spec": dict(template.get("spec") or {}),
    }


def is_namespace_going(error: StatusError) -> bool:
    """Whether the API refused because the namespace is being deleted."""
    causes = (error.details or {}).get("causes", [])
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
