"""Roles and bindings that a cluster has from the beginning, with upstream's names and rules: `roles.yaml`,
`bindings.yaml`. What is there already stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from stowplan.embedded.authorization.policy import GROUP
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.catalogue import built_in
from stowplan.model import manifests

_FOLDER: Final = Path(__file__).parent
_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATIONS: Final = {"rbac.authorization.kubernetes.io/autoupdate": "true"}


def ensure(api: Api) -> None:
    """Create what is missing; the namespaces have to be there."""
    for obj in _written():
        resource = built_in(GROUP, f"{obj['kind'].lower()}s")
        metadata = obj["metadata"]
        if api.store.get(resource, metadata.get("namespace", ""), metadata["name"]) is None:
            api.create(resource, metadata.get("namespace", ""), obj)


def _written() -> Iterator[Object]:
    for name in ("roles.yaml", "bindings.yaml"):
        for document in manifests.read((_FOLDER / name).read_text(encoding="utf-8")):
            for obj in document:
                yield _completed(obj)


def _completed(obj: Object) -> Object:
    """Write out what is the same for all of them."""
    metadata = obj["metadata"]
    done: Object = {
        **obj,
        "apiVersion": f"{GROUP}/v1",
        "metadata": {
            **metadata,
            "labels": {**_LABELS, **metadata.get("labels", {})},
            "annotations": _ANNOTATIONS,
        },
    }
    if "roleRef" in obj:
        done["roleRef"] = {"apiGroup": GROUP, **obj["roleRef"]}
        done["subjects"] = [_subject(subject) for subject in obj["subjects"]]
    return done


def _subject(subject: Object) -> Object:
    return subject if subject["kind"] == "ServiceAccount" else {"apiGroup": GROUP, **subject}
