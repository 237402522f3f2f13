"""The pods of a Job: made from its template, numbered where the Job is indexed, held by a finalizer until counted."""

from __future__ import annotations

from stowplan.embedded.controllers.claims import Claimant
from stowplan.embedded.controllers.job_accounts import TRACKING
from stowplan.embedded.controllers.pod_making import Naming, pod_from
from stowplan.embedded.following.pods import COMPLETION_INDEX
from stowplan.embedded.objects.resource import Object


def is_indexed(job: Object) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def make(claimant: Claimant, index: int | None) -> Object:
    """Make the next pod, of an index where the Job has indexes."""
    job = claimant.obj["metadata"]["name"]
    naming = Naming(labels=labels_of(claimant))
    if index is not None:
        naming.prefix = f"{job}-{index}"
        naming.annotations[COMPLETION_INDEX] = str(index)
        naming.labels[COMPLETION_INDEX] = str(index)
    pod = pod_from(claimant.obj["spec"]["template"], claimant, naming)
    pod["metadata"]["finalizers"].append(TRACKING)
    if index is not None:
        pod["spec"].setdefault("hostname", f"{job}-{index}")
        for kind in ("initContainers", "containers"):
            if kind in pod["spec"]:
                pod["spec"][kind] = [_told_index(container) for container in pod["spec"][kind]]
    return pod


def labels_of(claimant: Claimant) -> dict[str, str]:
    """The labels by which the pods of a Job are found."""
    name = claimant.obj["metadata"]["name"]
    return {
        "batch.kubernetes.io/controller-uid": claimant.uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": claimant.uid,
        "job-name": name,
    }


def _told_index(container: Object) -> Object:
    """Give a container the variable that says which index it works on."""
    variables = container.get("env") or []
    if any(each["name"] == "JOB_COMPLETION_INDEX" for each in variables):
        return container
    path = f"metadata.labels['{COMPLETION_INDEX}']"
    index = {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}}
    return {**container, "env": [*variables, index]}
