"""CustomResourceDefinitions with schemas of all sorts, and custom resources that fit them or do not."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.fuzz.generators import values

GROUP: Final = "fz.example.com"
#: Plurals of the definitions; few, because a server remembers what it once served.
PLURALS: Final = ("alphas", "betas", "gammas")
VERSIONS: Final = ("v1", "v1beta1")
_PATTERNS: Final = (
    "^(a+)+$",
    "[",
    "^a{1,1000}$",
    r"^\d+$",
    "(?=a)b",
    r"\p{L}+",
    "^$",
    "(a|b|ab)*c",
    "a{99999}",
    "\\",
    r"(?P<x>a)\1",
)
_FORMATS: Final = (
    "date-time",
    "int32",
    "int64",
    "uuid",
    "ipv4",
    "cidr",
    "byte",
    "duration",
    "email",
    "x",
    "quantity",
    "hostname",
    "date",
)
_RULES: Final = (
    "true", "self.x == 1", "self == oldSelf", "size(self) < 5", "self.all(x, x != '')", "1/0 > 0", "self.(",
    "has(self.a) && self.a.matches('(a+)+$')",
    "self.items.map(i, i.x).sum() > 3", "[1,2,3].all(x, [1,2,3].all(y, [1,2,3].all(z, x*y*z > 0)))",
    "duration(self) > duration('1s')",
    "self.startsWith(1)", "quantity(self).isGreaterThan(quantity('1'))", "url(self).getHost() == 'x'",
    "ip(self).family() == 4",
    "dyn(self) == 1", "oldSelf.orValue(0) < self", "'x' in self", "self[10000]", "string(self).lowerAscii()",
    "self.exists_one(k, self[k] == 1)",
)  # fmt: skip
_TYPES: Final = ("object", "array", "string", "integer", "number", "boolean")


def definition(rng: Random) -> dict[str, Any]:
    plural = rng.choice(PLURALS)
    kind = plural[:-1].capitalize()
    names: dict[str, Any] = {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": f"{kind}List"}
    if rng.random() < 0.2:
        names |= {"shortNames": [rng.choice(("fz", "po", "")), "fz"], "categories": ["all"]}
    spec: dict[str, Any] = {
        "group": GROUP,
        "names": names,
        "scope": rng.choice(("Namespaced", "Cluster")),
        "versions": [_version(rng, name, is_first=name == VERSIONS[0]) for name in VERSIONS[: rng.randrange(1, 3)]],
    }
    if rng.random() < 0.1:
        spec["preserveUnknownFields"] = rng.random() < 0.5
    if rng.random() < 0.1:
        spec["conversion"] = rng.choice(({"strategy": "None"}, {"strategy": "Webhook"}, {}))
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": spec,
    }


def plain_definition(rng: Random) -> dict[str, Any]:
    """A definition that takes everything, with all that a version can have."""
    made = definition(rng)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {"served": True, "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}, "scale": scale}}
    made["spec"]["versions"] = [version | {"name": name, "storage": name == VERSIONS[0]} for name in VERSIONS]
    return made


def custom_object(rng: Random) -> tuple[str, dict[str, Any]]:
    """An object, and the plural that it is of."""
    plural, version = rng.choice(PLURALS), rng.choice(VERSIONS)
    obj: dict[str, Any] = {name: _instance(rng) for name in ("spec", "status", "a", "x") if rng.random() < 0.6}
    head = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": plural[:-1].capitalize(),
        "metadata": {"name": values.name(rng)},
    }
    return plural, head | obj


def path(rng: Random, plural: str) -> str:
    """Where custom resources of a plural are, or may be."""
    where = f"/apis/{GROUP}/{rng.choice(VERSIONS)}"
    return f"{where}/namespaces/{rng.choice(values.NAMESPACES)}/{plural}" if rng.random() < 0.7 else f"{where}/{plural}"


def _version(rng: Random, name: str, *, is_first: bool) -> dict[str, Any]:
    properties = {part: _schema(rng, 3) for part in ("spec", "status", "a", "x") if rng.random() < 0.8}
    schema = {"type": "object", "properties": properties} | _extras(rng, "object")
    version: dict[str, Any] = {"name": name, "served": True, "storage": is_first, "schema": {"openAPIV3Schema": schema}}
    if rng.random() < 0.4:
        version["subresources"] = {"status": {}}
        if rng.random() < 0.5:
            version["subresources"]["scale"] = {
                "specReplicasPath": rng.choice((".spec.replicas", ".spec.x", "x", "")),
                "statusReplicasPath": rng.choice((".status.replicas", ".status[0]")),
                "labelSelectorPath": ".status.selector",
            }
    if rng.random() < 0.3:
        json_path = rng.choice(
            (".spec.a", ".metadata.name", ".spec[*].x", "{.a}", ".a[?(@.x==1)].y", "[", ".spec.items[-1:]", "")
        )
        version["additionalPrinterColumns"] = [
            {"name": "a", "type": rng.choice(("string", "date", "integer", "x")), "jsonPath": json_path}
        ]
    if rng.random() < 0.1:
        version["selectableFields"] = [{"jsonPath": rng.choice((".spec.a", ".x", ""))}]
    return version


def _schema(rng: Random, depth: int) -> dict[str, Any]:
    kind = rng.choice(_TYPES if depth else _TYPES[2:])
    schema: dict[str, Any] = {"type": kind}
    if kind == "object":
        if rng.random() < 0.7:
            schema["properties"] = {
                name: _schema(rng, depth - 1) for name in ("a", "x", "items", "replicas") if rng.random() < 0.6
            }
        else:
            schema["additionalProperties"] = rng.choice((True, _schema(rng, depth - 1)))
    if kind == "array":
        schema["items"] = _schema(rng, depth - 1)
    schema |= _extras(rng, kind)
    return values.mutated(rng, schema) if rng.random() < 0.03 else schema


def _extras(rng: Random, kind: str) -> dict[str, Any]:
    """Constraints, mostly of the kinds that fit the type."""
    by_type: dict[str, dict[str, Any]] = {
        "string": {
            "pattern": rng.choice(_PATTERNS), "format": rng.choice(_FORMATS), "maxLength": rng.choice((0, 5, -1)),
            "minLength": 1,
            "enum": ["a", "b", None], "default": rng.choice(("a", "", 1, None)),
        },
        "array": {
            "x-kubernetes-list-type": rng.choice(("set", "map", "atomic", "x")),
            "x-kubernetes-list-map-keys": rng.choice((["a"], ["x", "a"], [])),
            "maxItems": rng.choice((0, 2, -1)), "uniqueItems": True, "default": rng.choice(([], [1, 1], "x")),
        },
        "object": {
            "required": ["a", "zz"], "maxProperties": 1, "x-kubernetes-preserve-unknown-fields": rng.random() < 0.7,
            "x-kubernetes-embedded-resource": True, "default": rng.choice(({}, {"a": {}}, 1)),
            "x-kubernetes-map-type": "atomic",
        },
        "integer": {"minimum": rng.choice((0, 1.5, 10**30)), "maximum": 5, "multipleOf": rng.choice((2, 0, 0.1)),
        "exclusiveMaximum": True, "default": 1},
        "number": {"minimum": -0.5, "multipleOf": rng.choice((0.1, 1e-300, 0)), "default": rng.choice((1, 1.5, "x"))},
        "boolean": {"default": True, "nullable": True},
    }  # fmt: skip
    shared: dict[str, Any] = {
        "nullable": True, "x-kubernetes-int-or-string": True, "description": values.text(rng),
        "not": {"required": ["a"]},
        "allOf": [{"required": ["a"]}], "oneOf": [{"required": ["a"]}, {"required": ["x"]}],
        "x-kubernetes-validations": [_rule(rng) for _ in range(rng.randrange(1, 3))],
    }  # fmt: skip
    fitting = {name: value for name, value in by_type[kind].items() if rng.random() < 0.2}
    return fitting | {name: value for name, value in shared.items() if rng.random() < 0.06}


def _rule(rng: Random) -> dict[str, Any]:
    rule: dict[str, Any] = {"rule": rng.choice(_RULES)}
    if rng.random() < 0.3:
        rule["message"] = values.text(rng)
    if rng.random() < 0.2:
        rule["messageExpression"] = rng.choice(("'x' + string(self)", "1", "self.("))
    if rng.random() < 0.2:
        rule |= {
            "fieldPath": rng.choice((".a", ".spec", "x")),
            "reason": rng.choice(("FieldValueInvalid", "x")),
            "optionalOldSelf": True,
        }
    return rule


def _instance(rng: Random) -> Any:
    if rng.random() < 0.2:
        return values.anything(rng)
    plain: Any = rng.choice(("a", "a" * 40 + "!", 1, 1.5, True, None, [], {}))
    parts = {
        "a": plain,
        "x": values.anything(rng, 1),
        "items": [plain, plain, {"a": 1, "x": 1}],
        "replicas": rng.choice((1, 3, "x")),
    }
    return {name: value for name, value in parts.items() if rng.random() < 0.6}
