"""The numbered pods of a StatefulSet: their names, their claims, and what each is made from."""

from __future__ import annotations

import re
from copy import deepcopy

from stowplan.embedded.controllers.claims import Claimant
from stowplan.embedded.controllers.history import REVISION_LABEL, template_of
from stowplan.embedded.controllers.pod_making import Naming, pod_from
from stowplan.embedded.objects.resource import Object

_NUMBERED = re.compile(r"(.+)-(0|[1-9][0-9]*)$")


def ordinal_of(claimant: Claimant, pod_name: str) -> int | None:
    """Read the number of a pod; None if the pod is not called after the set."""
    found = _NUMBERED.match(pod_name)
    if found is None or found[1] != claimant.obj["metadata"]["name"]:
        return None
    return int(found[2])


def first_ordinal(claimant: Claimant) -> int:
    first: int = (claimant.obj["spec"].get("ordinals") or {}).get("start", 0)
    return first


def pod_at(claimant: Claimant, ordinal: int, revision: Object) -> Object:
    """Make the pod of an ordinal from the template of a revision."""
    name = f"{claimant.obj['metadata']['name']}-{ordinal}"
    labels = {
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(ordinal),
        REVISION_LABEL: revision["metadata"]["name"],
    }
    pod = pod_from(template_of(revision), claimant, Naming(name=name, labels=labels))
    pod["spec"]["hostname"] = name
    pod["spec"]["subdomain"] = claimant.obj["spec"].get("serviceName", "")
    _add_volumes(claimant, pod, ordinal)
    return pod


def claims_of(claimant: Claimant, ordinal: int) -> list[Object]:
    """Make the PersistentVolumeClaims of an ordinal."""
    made = []
    for template in claimant.obj["spec"].get("volumeClaimTemplates") or []:
        meta = deepcopy(template.get("metadata") or {})
        labels = {**(meta.get("labels") or {}), **_selected_labels(claimant)}
        meta |= {"name": claim_name(claimant, template, ordinal), "namespace": claimant.namespace, "labels": labels}
        meta.pop("creationTimestamp", None)
        made.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": template["spec"]})
    return made


def claim_name(claimant: Claimant, template: Object, ordinal: int) -> str:
    return f"{template['metadata']['name']}-{claimant.obj['metadata']['name']}-{ordinal}"


def _add_volumes(claimant: Claimant, pod: Object, ordinal: int) -> None:
    """Give the pod its claims as volumes, in place of volumes of the same name."""
    templates = claimant.obj["spec"].get("volumeClaimTemplates") or []
    if not templates:
        return
    volumes = [
        {
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim_name(claimant, template, ordinal)},
        }
        for template in templates
    ]
    names = {volume["name"] for volume in volumes}
    others = [volume for volume in pod["spec"].get("volumes") or [] if volume["name"] not in names]
    pod["spec"]["volumes"] = [*volumes, *others]


def _selected_labels(claimant: Claimant) -> dict[str, str]:
    labels: dict[str, str] = (claimant.obj["spec"].get("selector") or {}).get("matchLabels") or {}
    return labels
