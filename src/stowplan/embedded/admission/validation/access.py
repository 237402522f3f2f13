"""Rules of access control by roles (RBAC): roles, and what binds them to users."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import Field
from stowplan.embedded.admission.validation.metadata import check_label_selector
from stowplan.embedded.objects.resource import Object

_GROUP: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


def check_role(role: Field) -> None:
    """Check a role of a namespace."""
    for rule in role["rules"]:
        _check_rule(rule, is_namespaced=True)


def check_cluster_role(role: Field) -> None:
    """Check a role of the cluster, which may be made of others."""
    for rule in role["rules"]:
        _check_rule(rule, is_namespaced=False)
    if "aggregationRule" not in role:
        return
    selectors = role["aggregationRule"]["clusterRoleSelectors"]
    selectors.check_needed(detail="at least one clusterRoleSelector required if aggregationRule is non-nil")
    for selector in selectors:
        if not check_label_selector(selector):
            selector.invalid("invalid label selector.", None)


def check_role_binding(binding: Field) -> None:
    """Check what binds a role in a namespace."""
    _check_binding(binding, ("Role", "ClusterRole"), is_namespaced=True)


def check_cluster_role_binding(binding: Field) -> None:
    """Check what binds a role everywhere."""
    _check_binding(binding, ("ClusterRole",), is_namespaced=False)


def check_binding_update(binding: Field, before: Object) -> None:
    """Who is bound may change, to what may not."""
    reference = binding["roleRef"]
    if (reference.value or {}) != (before.get("roleRef") or {}):
        # Upstream shows the fields as Go has them.
        fields = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}
        reference.invalid("cannot change roleRef", {name: reference.get(field, "") for name, field in fields.items()})


def _check_rule(rule: Field, *, is_namespaced: bool) -> None:
    rule["verbs"].check_needed(detail="verbs must contain at least one value")
    urls = rule["nonResourceURLs"]
    if urls:
        if is_namespaced:
            urls.invalid("namespaced rules cannot apply to non-resource URLs")
        if any(rule[field] for field in ("apiGroups", "resources", "resourceNames")):
            urls.invalid("rules cannot apply to both regular resources and non-resource URLs")
        return
    rule["apiGroups"].check_needed(detail="resource rules must supply at least one api group")
    rule["resources"].check_needed(detail="resource rules must supply at least one resource")


def _check_binding(binding: Field, kinds: tuple[str, ...], *, is_namespaced: bool) -> None:
    reference = binding["roleRef"]
    reference["apiGroup"].check_is_one_of((_GROUP,))
    reference["kind"].check_is_one_of(kinds)
    reference["name"].check_needed(names.path_segment)
    for subject in binding["subjects"]:
        kind, group = subject["kind"], subject["apiGroup"]
        subject["name"].check_needed(names.subdomain if kind.value == "ServiceAccount" else None)
        kind.check_is_one_of(_SUBJECTS)
        if kind.value in _SUBJECTS:
            group.check_is_one_of(("",) if kind.value == "ServiceAccount" else (_GROUP,))
        if kind.value == "ServiceAccount" and not is_namespaced:
            subject["namespace"].check_needed()
