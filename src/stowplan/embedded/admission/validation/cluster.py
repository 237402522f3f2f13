"""Rules of what a cluster consists of: nodes, config maps, secrets, runtime classes, leases, roles (RBAC)."""

from __future__ import annotations

import base64
from typing import Final

import msgspec

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import IMMUTABLE, Field
from stowplan.embedded.admission.validation.metadata import check_label_selector, check_labels
from stowplan.embedded.admission.validation.resources import check_amounts
from stowplan.embedded.admission.validation.scheduling import check_taints, check_tolerations
from stowplan.embedded.objects.releases import changed
from stowplan.embedded.objects.resource import Object
from stowplan.model import json_values

_MOST_BYTES: Final = 1024 * 1024
#: What secrets of a type cannot do without.
_NEEDED: Final = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
#: Secrets that hold JSON under the one key that they need.
_WITH_JSON: Final = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")
_ACCOUNT_ANNOTATION: Final = "kubernetes.io/service-account.name"
_GROUP: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


def check_node(node: Field) -> None:
    """Check a node, new or changed."""
    spec, status = node["spec"], node["status"]
    # Upstream calls the path so.
    check_taints(Field(node.problems, "metadata.taints", spec.get("taints")))
    for field in ("capacity", "allocatable"):
        check_amounts(status[field], in_brackets=False)
    spec["podCIDRs"].check_each(names.address_range)


def check_node_update(node: Field, before: Object) -> None:
    spec, old = node["spec"], before.get("spec", {})
    for field, word in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        if old.get(field) and spec.get(field) != old[field]:
            spec[field].forbidden(f'node updates may not change {word} except from "" to valid')


def check_config_map(config_map: Field) -> None:
    """Check a config map: proper keys, each in one place, not too much."""
    data, binary = config_map["data"], config_map["binaryData"]
    _check_data_keys(data)
    for key in binary.value or ():
        binary.entry(key).check_other(key, names.config_key)
        if key in data:
            data.entry(key).invalid("duplicate of key present in binaryData", key)
    if _size(data) + _size(binary) * 3 // 4 > _MOST_BYTES:
        config_map.too_long(_MOST_BYTES)


def check_secret(secret: Field) -> None:
    """Check a secret: proper keys, those that its type needs, not too much."""
    data, kind = secret["data"], secret.get("type")
    _check_data_keys(data)
    if _size(data) * 3 // 4 > _MOST_BYTES:
        data.too_long(_MOST_BYTES)
    for key in _NEEDED.get(kind, ()):
        if key not in data:
            data.entry(key).required()
        elif kind in _WITH_JSON and (found := _json_problem(data.get(key))):
            data.entry(key).invalid(found, "<secret contents redacted>")
    if kind == "kubernetes.io/basic-auth" and "username" not in data and "password" not in data:
        data.entry("username").required()
        data.entry("password").required()
    if kind == "kubernetes.io/service-account-token":
        secret["metadata"]["annotations"].entry(_ACCOUNT_ANNOTATION).check_needed()


def check_secret_update(secret: Field, before: Object) -> None:
    secret["type"].check_unchanged(before.get("type"))
    check_data_kept(secret, before)


def check_data_kept(obj: Field, before: Object) -> None:
    """Refuse to change a config map or secret that was declared immutable."""
    if not before.get("immutable"):
        return
    changed = [field for field in ("data", "binaryData") if obj.get(field) != before.get(field)]
    for field in changed if obj.get("immutable") else ("immutable", *changed):
        obj[field].forbidden("field is immutable when `immutable` is set")


def check_runtime_class(runtime_class: Field) -> None:
    """Check a runtime class."""
    runtime_class["handler"].check_needed(names.label)
    # Upstream calls the path so.
    check_amounts(Field(runtime_class.problems, "overhead.limits", runtime_class["overhead"].get("podFixed")))
    scheduling = runtime_class["scheduling"]
    check_labels(scheduling["nodeSelector"])
    check_tolerations(scheduling["tolerations"])
    taken: set[tuple[str, ...]] = set()
    for toleration in scheduling["tolerations"]:
        key = tuple(toleration.get(field, "") for field in ("key", "operator", "value", "effect"))
        if key in taken:
            # The fields as Go has them, as upstream shows them.
            shown = dict(zip(("Key", "Operator", "Value", "Effect"), key, strict=True))
            toleration.duplicate(shown={**shown, "TolerationSeconds": toleration.get("tolerationSeconds")})
        taken.add(key)


def check_lease(lease: Field) -> None:
    """Check a lease, by which components keep each other informed."""
    spec = lease["spec"]
    if "leaseDurationSeconds" in spec:
        spec["leaseDurationSeconds"].check_positive("must be greater than 0")
    spec["leaseTransitions"].check_not_negative()


def _check_data_keys(data: Field) -> None:
    for key in data.value or ():
        if names.config_key(key):
            data.entry(key).check_other(key, names.config_key)


def _json_problem(encoded: str) -> str:
    """Why something is no JSON, nothing if it is."""
    content = base64.b64decode(encoded).strip()
    try:
        json_values.read(content)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if not content:
            return "unexpected end of JSON input"
        first = content[:1].decode(errors="replace")
        if first in '{["-0123456789tfn':
            return str(error)
        return f"invalid character '{first}' looking for beginning of value"
    return ""


def _size(data: Field) -> int:
    return sum([len(value.encode(errors="surrogatepass")) for value in data.value.values()]) if data.value else 0


def check_role(role: Field) -> None:
    """Check a role; one of the cluster may be made of others."""
    for rule in role["rules"]:
        _check_rule(rule, is_namespaced=role.get("kind") == "Role")
    if "aggregationRule" not in role:
        return
    selectors = role["aggregationRule"]["clusterRoleSelectors"]
    selectors.check_needed(detail="at least one clusterRoleSelector required if aggregationRule is non-nil")
    for selector in selectors:
        if not check_label_selector(selector):
            selector.invalid("invalid label selector.", None)


def check_role_binding_update(binding: Field, before: Object) -> None:
    """Who is bound may change, to what may not."""
    reference = binding["roleRef"]
    if (reference.value or {}) != (before.get("roleRef") or {}):
        # Upstream shows the fields as Go has them.
        fields = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}
        detail = IMMUTABLE if changed("RoleReferenceIsImmutable", binding.problems.release) else "cannot change roleRef"
        reference.invalid(detail, {name: reference.get(field, "") for name, field in fields.items()})


def _check_rule(rule: Field, *, is_namespaced: bool) -> None:
    rule["verbs"].check_needed(detail=rule.problems.advice("verbs must contain at least one value"))
    urls = rule["nonResourceURLs"]
    if urls:
        if is_namespaced:
            urls.invalid("namespaced rules cannot apply to non-resource URLs")
        if any(rule[field] for field in ("apiGroups", "resources", "resourceNames")):
            urls.invalid("rules cannot apply to both regular resources and non-resource URLs")
        return
    rule["apiGroups"].check_needed(detail="resource rules must supply at least one api group")
    rule["resources"].check_needed(detail="resource rules must supply at least one resource")


def check_role_binding(binding: Field) -> None:
    """Check what binds a role, in a namespace or everywhere."""
    is_namespaced = binding.get("kind") == "RoleBinding"
    reference = binding["roleRef"]
    reference["apiGroup"].check_is_one_of((_GROUP,))
    reference["kind"].check_is_one_of(("Role", "ClusterRole") if is_namespaced else ("ClusterRole",))
    reference["name"].check_needed(names.path_segment)
    for subject in binding["subjects"]:
        kind, group = subject["kind"], subject["apiGroup"]
        subject["name"].check_needed(names.subdomain if kind.value == "ServiceAccount" else None)
        kind.check_is_one_of(_SUBJECTS)
        if kind.value in _SUBJECTS:
            group.check_is_one_of(("",) if kind.value == "ServiceAccount" else (_GROUP,))
        if kind.value == "ServiceAccount" and not is_namespaced:
            subject["namespace"].check_needed()
