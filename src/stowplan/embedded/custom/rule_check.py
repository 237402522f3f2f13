"""Asks the rules of a schema (`x-kubernetes-validations`) of an object, on every level of it, in upstream's words.

A rule that reads `oldSelf` is asked of values that were there before: properties, entries of maps, and items of lists
that are maps. A value that does not change may go on breaking the other rules. Imported when the first rule is met, as
the CEL library is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from stowplan.cel.environment import ExpressionError
from stowplan.embedded.custom import object_validation, rule_values, rules
from stowplan.embedded.custom.causes import bounded, duplicate, forbidden, invalid, invalid_value, required
from stowplan.embedded.custom.rules import Expression, NotEvaluatedError
from stowplan.embedded.custom.structure import RULES, has_rules
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import Cause
from stowplan.embedded.objects.resource import Object

_OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
_LONGEST_MESSAGE: Final = 5 * 1024
#: What patterns weigh that costs as much as a value that is looked at.
_PATTERNS: Final = 2


class _OutOfBudgetError(Exception):
    pass


def problems(schema: Object, obj: Object, before: Object | None, most_cost: int = 0) -> list[Cause]:
    """List the rules that an object breaks."""
    walk = _Walk(most_cost or rules.MOST_COST)
    try:
        return bounded(walk.check(schema, obj, before, "", is_root=True))
    except _OutOfBudgetError:
        return [*walk.found, invalid(walk.field, walk.type, _OUT_OF_BUDGET)]


class _Walk:
    def __init__(self, most_cost: int) -> None:
        self._cost_left = most_cost
        self._has_rules: dict[int, bool] = {}
        self._expressions: dict[tuple[int, str, str], Expression | None] = {}
        #: What was found, and where the walk is.
        self.found: list[Cause] = []
        self.field = ""
        self.type = ""

    def check(self, schema: Any, value: Any, before: Any, field: str, *, is_root: bool = False) -> Iterator[Cause]:
        if not isinstance(schema, dict) or value is None or not self._is_concerned(schema):
            return
        if schema.get(RULES):
            for cause in self._rules(schema, value, before, field, is_root):
                self.found.append(cause)
                yield cause
        past = object_validation.past_items(schema, before, None)
        earlier = before if isinstance(before, dict) else {}
        for name, each, below, where in object_validation.members(schema, value, field):
            known = past(each) if isinstance(value, list) else earlier.get(name)
            yield from self.check(below, each, known, where)

    def _is_concerned(self, schema: Object) -> bool:
        if id(schema) not in self._has_rules:
            self._has_rules[id(schema)] = has_rules(schema)
        return self._has_rules[id(schema)]

    def _rules(self, schema: Object, value: Any, before: Any, field: str, is_root: bool) -> Iterator[Cause]:
        self.field, self.type = field, str(schema.get("type", ""))
        seen = {"self": rule_values.converted(schema, value, is_root=is_root)}
        if before is not None:
            seen["oldSelf"] = rule_values.converted(schema, before, is_root=is_root)
        size = rule_values.size(value)
        is_unchanged = before is not None and object_validation.identity(value) == object_validation.identity(before)
        for rule in reading.entries(schema, RULES):
            expression = self._expression(schema, rule, "rule", before, is_root)
            if expression is None or (is_unchanged and not expression.uses_old):
                continue
            if expression.uses_old and before is None and rule.get("optionalOldSelf") is not True:
                continue
            problem = self._ask(expression, seen, size)
            if problem is True:
                continue
            if isinstance(problem, str):
                yield invalid(field, self.type, f"{problem}{_told(rule)}")
            else:
                message = self._message(schema, rule, seen, before, is_root) or _message_of(rule)
                yield _complaint(schema, rule, value, field, message)

    def _expression(self, schema: Object, rule: Object, key: str, before: Any, is_root: bool) -> Expression | None:
        old = "plain"
        if rule.get("optionalOldSelf") is True:
            old = "none" if before is None else "some"
        known = (id(rule), key, old)
        if known not in self._expressions:
            # Why one cannot be asked was said when the definition was stored.
            self._expressions[known] = None
            with suppress(ExpressionError, NotEvaluatedError):
                self._expressions[known] = rules.compiled(schema, reading.text(rule, key), old, is_root=is_root)
        return self._expressions[known]

    def _ask(self, expression: Expression, seen: Object, size: tuple[int, int]) -> bool | str:
        """Say whether a rule holds; a string says why it fails to tell. One that cannot be asked refuses nothing."""
        try:
            answer = self._evaluate(expression, seen, size)
        except NotEvaluatedError:
            return True
        except ValueError as error:
            words = str(error)
            if words.startswith("no such overload"):
                what = "call arguments did not match a supported operator, function or macro signature"
                return f"'{words}': {what} for rule: "
            return f"{words} evaluating rule: "
        return answer is True

    def _message(self, schema: Object, rule: Object, seen: Object, before: Any, is_root: bool) -> str:
        """What the rule's own expression says of a value that breaks it; nothing if it has none, or it fails."""
        if not reading.text(rule, "messageExpression"):
            return ""
        expression = self._expression(schema, rule, "messageExpression", before, is_root)
        if expression is None or (expression.uses_old and "oldSelf" not in seen):
            return ""
        try:
            said = self._evaluate(expression, seen, (1, 0))
        except (ValueError, NotEvaluatedError):
            return ""
        words = said.strip() if isinstance(said, str) else ""
        return "" if "\n" in words or len(words.encode()) > _LONGEST_MESSAGE else words

    def _evaluate(self, expression: Expression, seen: Object, size: tuple[int, int]) -> Any:
        self._cost_left -= expression.cost(*size)
        if self._cost_left < 0:
            raise _OutOfBudgetError
        try:
            return expression.evaluate(seen)
        except rules.BudgetError as error:
            raise _OutOfBudgetError from error
        except ExpressionError as error:
            raise ValueError(str(error)) from error
        finally:
            self._cost_left -= expression.meter.spent // _PATTERNS


def _told(rule: Object) -> str:
    return reading.text(rule, "message").strip() or reading.text(rule, "rule").strip()


def _message_of(rule: Object) -> str:
    return reading.text(rule, "message").strip() or f"failed rule: {_told(rule)}"


def _complaint(schema: Object, rule: Object, value: Any, field: str, message: str) -> Cause:
    below = reading.text(rule, "fieldPath")
    where = f"{field}{below}" if field else below.removeprefix(".")
    match reading.text(rule, "reason"):
        case "FieldValueForbidden":
            return forbidden(where, message)
        case "FieldValueRequired":
            return required(where, message)
        case "FieldValueDuplicate":
            return duplicate(where, value)
    if schema.get("type") in ("object", "array"):
        return Cause("FieldValueInvalid", where or "<nil>", f"Invalid value: {message}")
    return invalid_value(where, value, message)
