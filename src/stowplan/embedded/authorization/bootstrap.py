"""Roles and bindings that a cluster has from the beginning, with upstream's names and rules: `roles.yaml`,
`bindings.yaml`. What is there already stays as it is, but for what is needed by feature gates that were off before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from stowplan.embedded.authorization.policy import GROUP
from stowplan.embedded.objects.resource import Object, Resource
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
        gated = _take_gated(obj, api.catalogue.gates)
        stored = api.store.get(resource, metadata.get("namespace", ""), metadata["name"])
        if stored is None:
            api.create(resource, metadata.get("namespace", ""), obj)
        elif gated and (stored.object["metadata"].get("annotations") or {}).items() >= _ANNOTATIONS.items():
            _add(api, resource, stored.object, gated)


def _take_gated(obj: Object, gates: frozenset[str]) -> list[Object]:
    """Leave those rules to an object that gates are on for; return the ones that there would not be without."""
    gated = []
    for rule in list(obj.get("rules", ())):
        gate = rule.pop("gate", "")
        if gate and gate not in gates:
            obj["rules"].remove(rule)
        elif gate:
            gated.append(rule)
    return gated


def _add(api: Api, resource: Resource, role: Object, rules: list[Object]) -> None:
    known = role.get("rules") or []
    missing = [rule for rule in rules if rule not in known]
    if missing:
        api.update(resource, "", role["metadata"]["name"], {**role, "rules": [*known, *missing]})


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
