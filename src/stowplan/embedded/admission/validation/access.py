"""Checks roles and what binds them to users."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.selectors import check_label_selector
from stowplan.embedded.objects.resource import Object

_GROUP: Final = "rbac.authorization.k8s.io"
_ROLES: Final = ("Role", "ClusterRole")
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


def check_role(problems: Problems, role: Object) -> None:
    """Check a role of a namespace."""
    for index, rule in enumerate(role.get("rules") or ()):
        _check_rule(problems, rule, f"rules[{index}]", is_namespaced=True)


def check_cluster_role(problems: Problems, role: Object) -> None:
    """Check a role of the cluster, which may be made of others."""
    for index, rule in enumerate(role.get("rules") or ()):
        _check_rule(problems, rule, f"rules[{index}]", is_namespaced=False)
    if "aggregationRule" not in role:
        return
    selectors, path = role["aggregationRule"].get("clusterRoleSelectors"), "aggregationRule.clusterRoleSelectors"
    if not selectors:
        problems.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for index, selector in enumerate(selectors or ()):
        found = len(problems.causes)
        check_label_selector(problems, selector, f"{path}[{index}]")
        if len(problems.causes) > found:
            problems.invalid(f"{path}[{index}]", None, "invalid label selector.")


def check_role_binding(problems: Problems, binding: Object) -> None:
    """Check what binds a role in a namespace."""
    _check_binding(problems, binding, is_namespaced=True)


def check_cluster_role_binding(problems: Problems, binding: Object) -> None:
    """Check what binds a role everywhere."""
    _check_binding(problems, binding, is_namespaced=False)


def check_binding_update(problems: Problems, binding: Object, before: Object) -> None:
    """Who is bound may change, to what may not."""
    reference = binding.get("roleRef") or {}
    if reference != (before.get("roleRef") or {}):
        shown = {name: reference.get(field, "") for name, field in _SHOWN_REFERENCE.items()}
        problems.invalid("roleRef", shown, "cannot change roleRef")


#: Upstream shows the fields as Go has them.
_SHOWN_REFERENCE: Final = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}


def _check_rule(problems: Problems, rule: Object, path: str, *, is_namespaced: bool) -> None:
    if not rule.get("verbs"):
        problems.required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        if is_namespaced:
            detail = "namespaced rules cannot apply to non-resource URLs"
            problems.invalid(f"{path}.nonResourceURLs", urls, detail)
        if any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            problems.invalid(f"{path}.nonResourceURLs", urls, detail)
        return
    if not rule.get("apiGroups"):
        problems.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        problems.required(f"{path}.resources", "resource rules must supply at least one resource")


def _check_binding(problems: Problems, binding: Object, *, is_namespaced: bool) -> None:
    reference = binding.get("roleRef") or {}
    if reference.get("apiGroup") != _GROUP:
        problems.unsupported("roleRef.apiGroup", reference.get("apiGroup", ""), (_GROUP,))
    kinds = _ROLES if is_namespaced else ("ClusterRole",)
    if reference.get("kind") not in kinds:
        problems.unsupported("roleRef.kind", reference.get("kind", ""), kinds)
    problems.check_name("roleRef.name", reference.get("name", ""), names.path_segment)
    for index, subject in enumerate(binding.get("subjects", ())):
        _check_subject(problems, subject, f"subjects[{index}]", is_namespaced=is_namespaced)


def _check_subject(problems: Problems, subject: Object, path: str, *, is_namespaced: bool) -> None:
    name, kind, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    if not name:
        problems.required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            problems.each(f"{path}.name", name, names.subdomain(name))
        if group:
            problems.unsupported(f"{path}.apiGroup", group, ("",))
        if not is_namespaced and not subject.get("namespace"):
            problems.required(f"{path}.namespace")
    elif kind not in _SUBJECTS:
        problems.unsupported(f"{path}.kind", kind, _SUBJECTS)
    elif group != _GROUP:
        problems.unsupported(f"{path}.apiGroup", group, (_GROUP,))
