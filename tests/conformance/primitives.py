"""Compares our quantities, selectors, tolerations, pod requests and QoS classes with recorded ones.

`check(case)` returns every difference as `(field, theirs, ours)`; no difference is an empty list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from stowplan.config.feature_gates import default_gates, rules_of
from stowplan.model import node_selector, requests, selectors, tolerations
from stowplan.model.affinity import NodeSelector, Toleration
from stowplan.model.decode import convert
from stowplan.model.meta import LabelSelector
from stowplan.model.node import Taint
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity, QuantityError
from stowplan.model.selectors import Selector, SelectorError

Difference = tuple[str, Any, Any]

# The only table whose answers differ from release to release.
POD_REQUESTS = "pod-requests"


def check(case: dict[str, Any]) -> list[Difference]:
    """Compute the case's answer and compare every field of it."""
    theirs = case["expect"]
    table, given = case["table"], case["input"]
    ours = _pod_requests(given, case["release"]) if table == POD_REQUESTS else _TABLES[table](given)
    if isinstance(theirs, str):
        return [] if theirs == ours else [("", theirs, ours)]
    return list(_differences("", _comparable(theirs), ours))


def _differences(path: str, theirs: Any, ours: Any) -> Iterator[Difference]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in sorted(theirs.keys() | ours.keys()):
            if name not in theirs or theirs[name] is not _NOT_COMPARED:
                yield from _differences(f"{path}.{name}".lstrip("."), theirs.get(name), ours.get(name))
    elif theirs != ours or type(theirs) is not type(ours):
        yield path, theirs, ours


_NOT_COMPARED = object()


def _comparable(expect: dict[str, Any]) -> dict[str, Any]:
    """Leave out numbers that did not fit an int64: what was recorded for them is an artefact of overflow."""
    compared = {name: value for name, value in expect.items() if not name.endswith("Overflow")}
    for name in ("value", "milliValue"):
        if expect.get(f"{name}Overflow"):
            compared[name] = _NOT_COMPARED
    return compared


def _quantity(text: str) -> dict[str, Any]:
    try:
        quantity = Quantity.parse(text)
    except QuantityError as error:
        return {"error": str(error), "canonical": None, "value": None, "milliValue": None}
    return {
        "error": None,
        "string": str(quantity),
        "canonical": quantity.canonical,
        "value": quantity.value,
        "milliValue": quantity.milli_value,
        "format": quantity.format,
    }


def _quantity_arith(operands: dict[str, str]) -> dict[str, Any]:
    a, b = Quantity.parse(operands["a"]), Quantity.parse(operands["b"])
    return {"cmp": a.compare(b), "sum": str(a + b)}


def _selector(compile: Callable[[], Selector], label_sets: list[dict[str, str]]) -> dict[str, Any]:
    try:
        selector = compile()
    except SelectorError as error:
        return {"error": str(error), "canonical": None, "matches": None}
    return {
        "error": None,
        "canonical": str(selector),
        "matches": [selector.matches(labels) for labels in label_sets],
    }


def _selector_string(given: dict[str, Any]) -> dict[str, Any]:
    return _selector(lambda: selectors.parse_selector(given["selector"]), given["labels"])


def _selector_object(given: dict[str, Any]) -> dict[str, Any]:
    content = given["selector"]
    written = None if content is None else convert(LabelSelector, content)
    return _selector(lambda: selectors.compile_label_selector(written), given["labels"])


def _with_values(selector: dict[str, Any]) -> dict[str, Any]:
    """Return a selector with its empty lists of values, which were there when it was recorded, though not written."""
    for term in selector.get("nodeSelectorTerms") or ():
        for requirement in (*term.get("matchExpressions", ()), *term.get("matchFields", ())):
            requirement.setdefault("values", [])
    return selector


def _node_selector(given: dict[str, Any]) -> dict[str, Any]:
    selector = node_selector.compile_node_selector(convert(NodeSelector, _with_values(given["nodeSelector"])))
    answers = [selector.match(node["name"], node.get("labels") or {}) for node in given["nodes"]]
    return {
        "parseError": selector.parse_error,
        "results": [{"match": is_match, "error": error} for is_match, error in answers],
    }


def _toleration(given: dict[str, Any]) -> dict[str, Any]:
    toleration, taint = convert(Toleration, given["toleration"]), convert(Taint, given["taint"])
    return {
        "tolerates": tolerations.tolerates(toleration, taint),
        "toleratesWithComparisonOperatorsGate": tolerations.tolerates(toleration, taint, comparison_operators=True),
    }


def _pod_requests(given: dict[str, Any], release: str) -> dict[str, Any]:
    pod = convert(Pod, given)
    weight = requests.accounted(pod, rules_of(default_gates(release)))
    return {
        "incoming": {name: str(quantity) for name, quantity in requests.request_list(pod).items()},
        "limits": {name: str(quantity) for name, quantity in requests.limit_list(pod).items()},
        "accounted": {
            "milliCPU": weight.milli_cpu,
            "memory": weight.memory,
            "ephemeralStorage": weight.ephemeral_storage,
            "scalar": dict(weight.scalar),
            "nonZeroMilliCPU": weight.non_zero_milli_cpu,
            "nonZeroMemory": weight.non_zero_memory,
        },
    }


def _qos(given: dict[str, Any]) -> str:
    return requests.qos_class(convert(Pod, given))


_TABLES: dict[str, Callable[[Any], Any]] = {
    "quantity": _quantity,
    "quantity-arith": _quantity_arith,
    "selector-string": _selector_string,
    "selector-object": _selector_object,
    "node-selector": _node_selector,
    "toleration": _toleration,
    "qos": _qos,
}
