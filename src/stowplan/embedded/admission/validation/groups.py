"""Rules of groups of pods, of groups of such groups, and of the workloads that both are made from.

What a field asks for by itself is declared, and `declarative` asks; what concerns several is below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from stowplan.embedded.admission.validation import declarative, names
from stowplan.embedded.admission.validation.declarative import NEW, Declared
from stowplan.embedded.admission.validation.field import Field, Rule, one_of
from stowplan.embedded.objects.releases import changed
from stowplan.embedded.objects.resource import Object, Resource

_HIGHEST_PRIORITY: Final = 1_000_000_000
_HIGHEST_TREE: Final = 4
_TOO_HIGH: Final = f"maximum template hierarchy depth is {_HIGHEST_TREE}"
#: Far more levels than anybody means, far fewer than Python can walk.
_DEEPEST: Final = 32
_MOST_CLAIMS: Final = 4
_MOST_TEMPLATES: Final = 8
_LONGEST_REASON: Final = 1024
_LONGEST_MESSAGE: Final = 32768
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_RULE: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    f"'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON}')"
)
_TREES: Final = "compositePodGroupTemplates"
_LEAVES: Final = "podGroupTemplates"


def check_group(group: Field, before: Object | None, resource: Resource) -> None:
    """Check a PodGroup, or how it differs from what it was."""
    spec = group["spec"]
    if before is None and spec.get("parentCompositePodGroupName") is not None and spec["workloadRef"].value is None:
        spec["workloadRef"].required("must be set when parentCompositePodGroupName is set")
    if before is not None and group.get("status") != before.get("status"):
        _check_conditions(group["status"]["conditions"], resource)
        claims = {claim.get("name") for claim in spec["resourceClaims"].value or ()}
        for status in group["status"]["resourceClaimStatuses"]:
            if status.get("name") not in claims:
                status["name"].invalid(
                    "must match the name of an entry in `spec.resourceClaims`", status.get("name", "")
                )
    declarative.check(group, _GROUP if _is_of_137(resource) else _GROUP_OF_136, NEW if before is None else before)


def check_composite_group(group: Field, before: Object | None, resource: Resource) -> None:
    """Check a CompositePodGroup, or how it differs from what it was."""
    if before is not None and group.get("status") != before.get("status"):
        _check_conditions(group["status"]["conditions"], resource)
    declarative.check(group, _COMPOSITE_GROUP, NEW if before is None else before)


def check_workload(workload: Field, before: Object | None, resource: Resource) -> None:
    """Check a Workload, or how it differs from what it was."""
    old = NEW if before is None else before
    if not _is_of_137(resource):
        declarative.check(workload, _WORKLOAD_OF_136, old)
        return
    spec = workload["spec"]
    if _is_bottomless(spec):
        spec[_TREES].invalid(_TOO_HIGH, None)
        return
    _check_names(spec)
    _check_depth(spec[_TREES])
    _check_priorities(spec)
    for tree in _all_trees(spec):
        if not (tree[_LEAVES] or tree[_TREES]):
            detail = "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"
            tree.invalid(detail, tree.get("name", ""))
    declarative.check(workload, _WORKLOAD, old)


def _is_of_137(resource: Resource) -> bool:
    return changed("GroupsOf137", resource.release)


def _is_bottomless(spec: Field) -> bool:
    """Whether a tree is so high that nobody should walk it."""
    level = [spec]
    for _ in range(_DEEPEST):
        level = [below for each in level for below in each[_TREES]]
    return bool(level)


def _all_trees(spec: Field) -> Iterator[Field]:
    """Every composite template below a workload, each before what is in it."""
    waiting = list(spec[_TREES])[::-1]
    while waiting:
        tree = waiting.pop()
        yield tree
        waiting.extend(list(tree[_TREES])[::-1])


def _check_names(spec: Field) -> None:
    """Refuse a name that another list of the tree has; within a list, `declarative` sees to it."""
    taken = {leaf.get("name", "") for leaf in spec[_LEAVES].value or ()}
    waiting = [spec[_TREES]]
    while waiting:
        templates = waiting.pop()
        names_here = []
        for template in templates:
            name = template.get("name", "")
            if name in taken:
                template["name"].duplicate(shown=name)
            names_here.append(name)
        taken.update(names_here)
        # What is in the first of them comes next, its leaves before its trees.
        waiting += [below for each in reversed(list(templates)) for below in (each[_TREES], each[_LEAVES])]


def _check_depth(trees: Field) -> None:
    for tree in trees:
        height, level = 1, [tree]
        while level and height < _HIGHEST_TREE:
            level, height = [below for each in level for below in each[_TREES]], height + 1
        if level:
            shown = declarative.as_go(tree.get(_TREES), _TREE_TEMPLATE.fields[_TREES])
            tree.invalid(_TOO_HIGH, shown)


def _check_priorities(spec: Field) -> None:
    """Refuse templates of several priorities: the whole is scheduled with one."""

    def priority(template: Field) -> tuple[str, int | None]:
        return template.get("priorityClassName") or "", template.get("priority")

    if len({priority(leaf) for leaf in spec[_LEAVES]}) > 1:
        spec.invalid("detected multiple priority configurations", None)
        return
    trees = list(_all_trees(spec))
    leaves = [leaf for parent in (spec, *trees) for leaf in parent[_LEAVES]]
    if len({priority(template) for template in (*trees, *leaves)}) > 1:
        spec.invalid("all priority and priorityClassName values must be identical, detected multiple values", None)


def _check_conditions(conditions: Field, resource: Resource) -> None:
    has_own_words = changed("MissingConditionFields", resource.release)
    taken: set[str] = set()
    for condition in conditions:
        kind = condition["type"]
        if kind.value in taken and has_own_words:
            condition.duplicate(shown=kind.value)
        elif kind.value in taken:
            kind.duplicate()
        taken.add(kind.value or "")
        if has_own_words and not kind:
            kind.required("is required")
        else:
            kind.check(names.qualified)
        if has_own_words and not condition["status"]:
            condition["status"].required()
        else:
            condition["status"].check_is_one_of(("False", "True", "Unknown"))
        _check_details(condition)


def _check_details(condition: Field) -> None:
    condition["observedGeneration"].check_not_negative("must be greater than or equal to zero")
    condition["lastTransitionTime"].check_needed()
    condition["reason"].check_needed(lambda reason: () if re.fullmatch(_REASON, reason) else (_REASON_RULE,))
    for name, longest in (("reason", _LONGEST_REASON), ("message", _LONGEST_MESSAGE)):
        if len((condition.get(name) or "").encode(errors="surrogatepass")) > longest:
            condition[name].too_long(longest)


def _in_bytes(rule: Rule) -> Rule:
    """Declared rules say `bytes` where those of metadata say `characters`."""
    return lambda value: [re.sub(r"(\d+) characters$", r"\1 bytes", detail) for detail in rule(value)]


def _named(rule: Rule, **options: Any) -> Declared:
    in_bytes = _in_bytes(rule)
    return Declared(check=lambda field: field.check(in_bytes), **options)


def _label_key(key: str) -> tuple[str, ...]:
    return tuple(detail.replace("a qualified name must", "a valid label key must") for detail in names.qualified(key))


def _at_least_one(field: Field) -> None:
    if field.value < 1:
        field.invalid("must be greater than or equal to 1")


def _at_most_highest(field: Field) -> None:
    if field.value > _HIGHEST_PRIORITY:
        field.invalid(f"must be less than or equal to {_HIGHEST_PRIORITY}")


def _list(most: int, of: Declared, key: str = "", **options: Any) -> Declared:
    return Declared(most_items=most, items=of, key=key, **options)


_STRUCT: Final = Declared()
_NAME: Final = _named(names.label, zero="", is_required=True)
_LONG_NAME: Final = _named(names.subdomain, zero="", is_required=True)
_SEGMENT: Final = Declared(zero="", is_required=True, check=lambda field: field.check(names.path_segment))
_COUNT: Final = Declared(zero=0, is_required=True, check=_at_least_one)
_REFERENCE: Final = {"workloadName": _LONG_NAME, "templateName": _NAME}
_CONTROLLER: Final = Declared(
    is_immutable=True,
    fields={"apiGroup": _named(names.subdomain, zero=""), "kind": _SEGMENT, "name": _SEGMENT},
)
_TOPOLOGY: Final = {
    "topology": _list(1, Declared(fields={"key": _named(_label_key, zero="", is_required=True)})),
}
_CLAIMED: Final = ("resourceClaimName", "resourceClaimTemplateName")
_CLAIM: Final = Declared(fields={"name": _NAME, **dict.fromkeys(_CLAIMED, _named(names.subdomain))}, union=_CLAIMED)
_CLAIMS: Final = _list(_MOST_CLAIMS, _CLAIM, "name", is_immutable=True)
_DISRUPTION: Final = Declared(is_immutable=True, fields={"single": _STRUCT, "all": _STRUCT}, union=("single", "all"))
_PREEMPTION: Final = Declared(
    is_immutable=True, gate="PodGroupPreemptionPolicy", check=one_of("Never", "PreemptLowerPriority")
)
_PRIORITY: Final = {
    "priorityClassName": _named(names.subdomain, zero="", is_immutable=True),
    "priority": Declared(is_immutable=True, check=_at_most_highest),
}
_STATUS: Final = Declared(
    zero={},
    fields={
        "resourceClaimStatuses": _list(
            _MOST_CLAIMS,
            Declared(fields={"name": Declared(zero=""), "resourceClaimName": _named(names.subdomain)}),
            "name",
        )
    },
)


def _policy(count: str, *, is_immutable: bool = False) -> Declared:
    """How a group is scheduled: as single pods, or as a gang with a number that has to be there."""
    fields = {
        "basic": Declared(is_immutable=True),
        "gang": Declared(is_kept=True, fields={count: _COUNT}),
    }
    return Declared(zero={}, is_immutable=is_immutable, fields=fields, union=("basic", "gang"))


def _constraints(gate: str = "", *, is_null_shown: bool = False) -> Declared:
    return Declared(is_immutable=True, gate=gate, fields=_TOPOLOGY, is_null_shown=is_null_shown)


def _spec(fields: Mapping[str, Declared], union: tuple[str, ...] = ()) -> Declared:
    return Declared(fields={"spec": Declared(zero={}, fields=fields, union=union), "status": _STATUS})


_TOPOLOGY_GATE: Final = "TopologyAwareWorkloadScheduling"
_TREE_GATE: Final = "CompositePodGroup"
_GROUP: Final = _spec(
    {
        "parentCompositePodGroupName": _named(names.subdomain, is_immutable=True, gate=_TREE_GATE),
        "workloadRef": Declared(is_immutable=True, fields=_REFERENCE),
        "schedulingPolicy": _policy("minCount"),
        "schedulingConstraints": _constraints(_TOPOLOGY_GATE),
        "resourceClaims": _CLAIMS,
        "disruptionMode": _DISRUPTION,
        **_PRIORITY,
        "preemptionPolicy": _PREEMPTION,
    }
)
_COMPOSITE_GROUP: Final = _spec(
    {
        "parentCompositePodGroupName": _named(names.subdomain, is_immutable=True),
        "workloadRef": Declared(is_immutable=True, is_required=True, fields=_REFERENCE),
        "schedulingPolicy": _policy("minGroupCount", is_immutable=True),
        "schedulingConstraints": _constraints(),
        "disruptionMode": _DISRUPTION,
        **_PRIORITY,
        "preemptionPolicy": _PREEMPTION,
    }
)
_TEMPLATE: Final = Declared(
    fields={
        "name": _NAME,
        "schedulingPolicy": _policy("minCount"),
        "schedulingConstraints": _constraints(_TOPOLOGY_GATE, is_null_shown=True),
        "resourceClaims": _CLAIMS,
        "disruptionMode": _DISRUPTION,
        **_PRIORITY,
        "preemptionPolicy": _PREEMPTION,
    }
)
_TEMPLATES: Final = _list(_MOST_TEMPLATES, _TEMPLATE, "name", has_fixed_items=True)


def _tree_template() -> Declared:
    """A template of groups of groups, in which there may be further ones."""
    fields = {
        "name": _NAME,
        "schedulingPolicy": _policy("minGroupCount"),
        "schedulingConstraints": _constraints(),
        "disruptionMode": _DISRUPTION,
        **_PRIORITY,
        "preemptionPolicy": _PREEMPTION,
        _LEAVES: _TEMPLATES,
    }
    template = Declared(fields=fields)
    fields[_TREES] = _list(_MOST_TEMPLATES, template, "name", has_fixed_items=True)
    return template


_TREE_TEMPLATE: Final = _tree_template()
_WORKLOAD: Final = _spec(
    {
        "controllerRef": _CONTROLLER,
        _LEAVES: _TEMPLATES,
        _TREES: _list(_MOST_TEMPLATES, _TREE_TEMPLATE, "name", has_fixed_items=True, gate=_TREE_GATE),
    },
    union=(_LEAVES, _TREES),
)

_OLD_TEMPLATE_REFERENCE: Final = Declared(
    is_immutable=True,
    fields={"workload": Declared(fields={"workloadName": _LONG_NAME, "podGroupTemplateName": _NAME})},
    union=("workload",),
)
_OLD_DISRUPTION: Final = Declared(is_immutable=True, check=one_of("Pod", "PodGroup"))
_GROUP_OF_136: Final = _spec(
    {
        "podGroupTemplateRef": _OLD_TEMPLATE_REFERENCE,
        "schedulingPolicy": _policy("minCount", is_immutable=True),
        "schedulingConstraints": _constraints(_TOPOLOGY_GATE),
        "resourceClaims": _CLAIMS,
        "disruptionMode": _OLD_DISRUPTION,
        **_PRIORITY,
    }
)
_WORKLOAD_OF_136: Final = _spec(
    {
        "controllerRef": _CONTROLLER,
        _LEAVES: _list(
            _MOST_TEMPLATES,
            Declared(
                fields={
                    "name": _NAME,
                    "schedulingPolicy": _policy("minCount"),
                    "schedulingConstraints": _constraints(_TOPOLOGY_GATE, is_null_shown=True),
                    "resourceClaims": _CLAIMS,
                    "disruptionMode": _OLD_DISRUPTION,
                    **_PRIORITY,
                }
            ),
            "name",
            is_required=True,
            is_immutable=True,
        ),
    }
)
