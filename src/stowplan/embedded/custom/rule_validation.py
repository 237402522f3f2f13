"""What is wrong with the rules of a schema (`x-kubernetes-validations`), in upstream's words; they have to compile.

Imported when the first rule is met, as the CEL library is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stowplan.cel.environment import ExpressionError
from stowplan.embedded.custom.causes import invalid_value, required, spelled, unsupported
from stowplan.embedded.custom.rules import NotEvaluatedError, Typing, compiled
from stowplan.embedded.custom.structure import RULES
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import Cause
from stowplan.embedded.objects.json_path import keys
from stowplan.embedded.objects.resource import Object

_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_HTML: Final = (("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e"))


def faults(schema: Object, path: str, unrelated: str, *, is_object: bool) -> Iterator[Cause]:
    """Yield what is wrong with the rules of one schema; `unrelated` is the list within which values have no past."""
    typing = Typing(schema, is_root=is_object)
    for index, rule in enumerate(reading.entries(schema, RULES)):
        where = f"{path}.{RULES}[{index}]"
        found = list(_form(schema, rule, where))
        yield from found or _meaning(typing, rule, where, unrelated)


def not_evaluated(schema: Any, path: str, *, is_object: bool) -> Iterator[str]:
    """Yield the rules of one schema that are sound, but are not evaluated, and why."""
    for index, rule in enumerate(reading.entries(schema, RULES)):
        try:
            compiled(schema, reading.text(rule, "rule"), _old(rule), is_root=is_object)
        except NotEvaluatedError as error:
            yield f"{path}.{RULES}[{index}].rule is not evaluated here: {error}"


def _form(schema: Object, rule: Object, where: str) -> Iterator[Cause]:
    text, message = reading.text(rule, "rule").strip(), reading.text(rule, "message")
    if not text:
        yield required(f"{where}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid_value(f"{where}.message", message, "must be non-empty if specified")
    elif _has_breaks(message.strip()):
        yield invalid_value(f"{where}.message", message, "must not contain line breaks")
    elif _has_breaks(text) and not message:
        yield required(f"{where}.message", "message must be specified if rule contains line breaks")
    expression = reading.text(rule, "messageExpression")
    if expression and not expression.strip():
        yield required(f"{where}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason") not in (None, *_REASONS):
        yield unsupported(f"{where}.reason", rule["reason"], _REASONS)
    field = reading.text(rule, "fieldPath")
    if field and not _is_field(schema, field):
        yield invalid_value(f"{where}.fieldPath", field, "must be a valid path")


def _meaning(typing: Typing, rule: Object, where: str, unrelated: str) -> Iterator[Cause]:
    shown = _shown(rule)
    uses_old = "oldSelf" in reading.text(rule, "rule")
    try:
        kind = typing.kind_of(reading.text(rule, "rule"), _old(rule))
        if kind not in ("BOOL", "DYN"):
            raise ExpressionError("cel expression must evaluate to a bool")
    except ExpressionError as error:
        yield Cause("FieldValueInvalid", f"{where}.rule", f"Invalid value: {shown}: {error}")
        return
    message = reading.text(rule, "messageExpression")
    try:
        if message and typing.kind_of(message, _old(rule)) not in ("STRING", "DYN"):
            raise ExpressionError("must evaluate to a string")
    except ExpressionError as error:
        what = f"Invalid value: {shown}: messageExpression {error}"
        yield Cause("FieldValueInvalid", f"{where}.messageExpression", what)
    if uses_old and unrelated:
        what = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {unrelated}"
        yield invalid_value(f"{where}.rule", reading.text(rule, "rule"), what)
    if not uses_old and rule.get("optionalOldSelf") is not None:
        what = "may not be set if oldSelf is not used in rule"
        yield invalid_value(f"{where}.optionalOldSelf", rule["optionalOldSelf"], what)


def _old(rule: Object) -> str:
    return "some" if rule.get("optionalOldSelf") is True else "plain"


def _has_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text


def _is_field(schema: Object, field: str) -> bool:
    try:
        names = keys(field)
    except ValueError:
        return False
    found: Any = schema
    for name in names:
        properties = reading.mapping(found, "properties")
        found = properties.get(name) if properties else reading.at(found, "additionalProperties")
        if not isinstance(found, dict):
            return False
    return bool(names)


def _shown(rule: Object) -> str:
    """Spell a rule as upstream's messages do."""
    text = spelled(
        {
            "Rule": reading.text(rule, "rule"),
            "Message": reading.text(rule, "message"),
            "MessageExpression": reading.text(rule, "messageExpression"),
            "Reason": rule.get("reason"),
            "FieldPath": reading.text(rule, "fieldPath"),
            "OptionalOldSelf": rule.get("optionalOldSelf"),
        }
    )
    for mark, escape in _HTML:
        text = text.replace(mark, escape)
    return text
