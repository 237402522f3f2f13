"""Short ways to write roles and bindings into a store."""

from __future__ import annotations

from typing import Any

from stowplan.embedded.registry.api import Api
from tests.unit.embedded.given import resource

GROUP = "rbac.authorization.k8s.io"


def rule(verbs: str, resources: str = "", group: str = "", **more: Any) -> dict[str, Any]:
    """A rule, with its words in texts; `names` and `urls` say which objects or paths."""
    written: dict[str, Any] = {"verbs": verbs.split()}
    if resources:
        written |= {"apiGroups": [group], "resources": resources.split()}
    for field, name in (("resourceNames", "names"), ("nonResourceURLs", "urls")):
        if name in more:
            written[field] = more[name].split()
    return written


def add_role(api: Api, name: str, *rules: dict[str, Any], namespace: str = "", **content: Any) -> None:
    """A ClusterRole, or a Role where there is a namespace; `labels` adds to its metadata."""
    of = resource(f"{'roles' if namespace else 'clusterroles'}.{GROUP}")
    labels = content.pop("labels", {})
    api.create(of, namespace, {"metadata": {"name": name, "labels": labels}, "rules": list(rules), **content})


def bind(api: Api, name: str, role: str, *subjects: tuple[str, str], namespace: str = "") -> None:
    """A binding to a role, written `Role/name` or `ClusterRole/name`; a service account is `namespace/name`."""
    of = resource(f"{'rolebindings' if namespace else 'clusterrolebindings'}.{GROUP}")
    kind, _, role_name = role.partition("/")
    reference = {"apiGroup": GROUP, "kind": kind, "name": role_name}
    listed = [_subject(*subject) for subject in subjects]
    api.create(of, namespace, {"metadata": {"name": name}, "roleRef": reference, "subjects": listed})


def _subject(kind: str, name: str) -> dict[str, str]:
    if kind == "ServiceAccount":
        namespace, _, account = name.partition("/")
        return {"kind": kind, "name": account, "namespace": namespace}
    return {"apiGroup": GROUP, "kind": kind, "name": name}
