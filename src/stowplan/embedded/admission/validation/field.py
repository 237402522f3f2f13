"""A field of an object on its way in, and the words to say what is wrong with it; refusing is left to the caller.

`Field` is the vocabulary that the rules of all kinds are written in; upstream has a package called field for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from typing import Any, Final

import msgspec

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import MOST_CAUSES, Cause
from stowplan.embedded.objects.releases import RELEASE, changed
from stowplan.embedded.objects.resource import Object
from stowplan.model.label_syntax import quoted

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
NOT_POSITIVE: Final = "must be greater than zero"
IMMUTABLE: Final = "field is immutable"

#: Says what is wrong with a value, nothing if it will do. `names` has most of them.
Rule = Callable[[Any], Iterable[str]]

#: Looks at a field, and complains of it.
Check = Callable[["Field"], object]

_ITS_VALUE: Final = object()


class Problems:
    """Complaints about fields, in the order in which they were found; feature gates that are on allow more.

    They are in the words of a release.
    """

    __slots__ = ("causes", "gates", "release")

    def __init__(self, gates: frozenset[str] = frozenset(), release: str = RELEASE) -> None:
        self.causes: list[Cause] = []
        self.gates = gates
        self.release = release

    def advice(self, detail: str) -> str:
        """What is said beside a complaint that upstream came to make by declaration: nothing, since then."""
        return "" if changed("DeclaredWithoutAdvice", self.release) else detail

    def add(self, reason: str, path: str, complaint: str, detail: str) -> None:
        # More are not told, and there may be millions.
        if len(self.causes) < MOST_CAUSES:
            self.causes.append(Cause(reason, path, f"{complaint}: {detail}" if detail else complaint))


class Field(msgspec.Struct, gc=False, eq=False):
    """A place in an object: its value (None if there is none), where it is, and where complaints about it go.

    A struct, because one is made for each field of each new object; its path is put together when somebody complains.
    """

    problems: Problems
    #: The path, or below another field what it is called there; a number is a place in a list.
    name: str | int
    value: Any
    parent: Field | None = None

    @property
    def path(self) -> str:
        if self.parent is None:
            return str(self.name)
        above = self.parent.path
        if isinstance(self.name, int):
            return f"{above}[{self.name}]"
        return f"{above}.{self.name}" if above and not self.name.startswith("[") else f"{above}{self.name}"

    def __getitem__(self, name: str) -> Field:
        """The field below this one, whether it is there or not."""
        value = self.value
        return Field(self.problems, name, value.get(name) if value else None, self)

    def __iter__(self) -> Iterator[Field]:
        """The items of a list."""
        for index, value in enumerate(self.value or ()):
            yield Field(self.problems, index, value, self)

    def __contains__(self, name: str) -> bool:
        return bool(self.value) and name in self.value

    def __bool__(self) -> bool:
        return bool(self.value)

    def get(self, name: str, absent: Any = None) -> Any:
        """The value of the field below this one."""
        return self.value.get(name, absent) if self.value else absent

    def entry(self, key: str) -> Field:
        """The value of a map at the path of its key, such as `data[key]`."""
        return Field(self.problems, f"[{key}]", self.value.get(key) if self.value else None, self)

    def check_present(self, checks: Iterable[tuple[str, Check]]) -> None:
        """Check those of the fields below this one that are there, in the order of the list."""
        present = self.value or ()
        for name, check in checks:
            if name in present:
                check(self[name])

    def each(self, check: Check) -> None:
        """Check every item of a list."""
        for item in self:
            check(item)

    def required(self, detail: str = "") -> None:
        self.problems.add("FieldValueRequired", self.path, "Required value", detail)

    def invalid(self, detail: str = "", shown: Any = _ITS_VALUE) -> None:
        self._add("FieldValueInvalid", "Invalid value", detail, shown)

    def refuse(self, detail: str) -> None:
        """Complain of a value that is not shown."""
        self.problems.add("FieldValueInvalid", self.path, "Invalid value", detail)

    def unsupported(self, supported: Iterable[str], shown: Any = _ITS_VALUE) -> None:
        listed = ", ".join(map(quoted, supported))
        self._add("FieldValueNotSupported", "Unsupported value", f"supported values: {listed}", shown)

    def forbidden(self, detail: str) -> None:
        self.problems.add("FieldValueForbidden", self.path, "Forbidden", detail)

    def duplicate(self, detail: str = "", shown: Any = _ITS_VALUE) -> None:
        self._add("FieldValueDuplicate", "Duplicate value", detail, shown)

    def not_found(self, shown: Any = _ITS_VALUE) -> None:
        self._add("FieldValueNotFound", "Not found", "", shown)

    def too_long(self, most_bytes: int) -> None:
        self.problems.add("FieldValueTooLong", self.path, "Too long", f"may not be more than {most_bytes} bytes")

    def check_number_of_items(self, most: int) -> bool:
        """Refuse a list that is too long; return whether it will do."""
        number = len(self.value or ())
        if number > most:
            items = "item" if most == 1 else "items"
            self.problems.add(
                "FieldValueTooMany", self.path, f"Too many: {number}", f"must have at most {most} {items}"
            )
        return number <= most

    def check_needed(self, rule: Rule | None = None, detail: str = "") -> bool:
        """Refuse a value that is missing, empty, or against a rule; return whether it is there."""
        if not self.value:
            self.required(detail)
        elif rule is not None:
            self.check(rule)
        return bool(self.value)

    def check(self, rule: Rule, absent: Any = "") -> None:
        """Refuse a value that is against a rule; a missing one counts as `absent`."""
        self.check_other(absent if self.value is None else self.value, rule)

    def check_other(self, value: Any, rule: Rule) -> None:
        """Refuse another value in the place of this one if it is against a rule, such as the key of a map."""
        for detail in rule(value):
            self.invalid(detail, value)

    def check_each(self, rule: Rule) -> None:
        """Refuse items of a list that are against a rule."""
        for item in self:
            item.check(rule)

    def check_given(self, rule: Rule) -> None:
        """Refuse a value that is against a rule; a missing or empty one is not looked at."""
        if self.value:
            self.check(rule)

    def check_set(self, rule: Rule) -> None:
        """Refuse a value that is against a rule; a missing one is not looked at, an empty one is."""
        if self.value is not None:
            self.check(rule)

    def check_one_of(self, supported: Iterable[str]) -> None:
        """Refuse a value outside a fixed list; a missing one is not looked at."""
        if self.value is not None and self.value not in supported:
            self.unsupported(supported)

    def check_needed_one_of(self, supported: Iterable[str]) -> None:
        """Refuse a value that is missing or outside a fixed list."""
        if self.check_needed():
            self.check_one_of(supported)

    def check_is_one_of(self, supported: Iterable[str]) -> None:
        """Refuse a value outside a fixed list; a missing one counts as empty, which is seldom on the list."""
        value = self.value or ""
        if value not in supported:
            self.unsupported(supported, value)

    def check_not_negative(self, detail: str = NOT_NEGATIVE) -> None:
        if self.value is not None and self.value < 0:
            self.invalid(detail)

    def check_positive(self, detail: str = NOT_POSITIVE) -> None:
        """Refuse a number that is not above zero, as a missing one is not."""
        if (self.value or 0) <= 0:
            self.invalid(detail, self.value or 0)

    def check_between(self, least: int, most: int, detail: str) -> None:
        """Refuse a number outside a range; a missing one counts as zero."""
        if not least <= (self.value or 0) <= most:
            self.invalid(detail, self.value or 0)

    def check_at_most(self, most: int, detail: str) -> None:
        if (self.value or 0) > most:
            self.invalid(detail)

    def check_unchanged(self, before: Any) -> None:
        if self.value != before:
            self.invalid(IMMUTABLE)

    def check_fixed(self, before: Any) -> None:
        """Refuse a change of a value that upstream came to declare as immutable."""
        if self.value != before:
            self.refuse_change(self.value)

    def refuse_change(self, shown: Any) -> None:
        """Refuse a change of what upstream came to declare as immutable, and show it as it did before that."""
        self.invalid(IMMUTABLE, None if changed("ImmutableWithoutValue", self.problems.release) else shown)

    def check_unique(self, taken: set[Any]) -> None:
        """Refuse a value that another one has taken; take it."""
        value = "" if self.value is None else self.value
        if value in taken:
            self.duplicate(shown=value)
        taken.add(value)

    def _add(self, reason: str, complaint: str, detail: str, shown: Any) -> None:
        value = as_shown(self.value if shown is _ITS_VALUE else shown)
        self.problems.add(reason, self.path, f"{complaint}: {value}", detail)


def immutable(*paths: str) -> Callable[[Field, Object], None]:
    """Make a comparison that refuses changes of these fields."""

    def compare(obj: Field, before: Object) -> None:
        for path in paths:
            keys = path.split(".")
            reduce(Field.__getitem__, keys, obj).check_unchanged(reading.at(before, *keys))

    return compare


def fixed(*paths: str) -> Callable[[Field, Object], None]:
    """Make a comparison that refuses changes of these fields, which upstream came to declare as immutable."""

    def compare(obj: Field, before: Object) -> None:
        for path in paths:
            obj[path].check_fixed(before.get(path))

    return compare


def one_of(*supported: str) -> Check:
    """Make a check that refuses a value outside a fixed list."""
    return partial(Field.check_one_of, supported=supported)


def if_given(rule: Rule) -> Check:
    """Make a check that refuses a value that is against a rule, unless it is empty."""
    return partial(Field.check_given, rule=rule)


def as_shown(value: Any) -> str:
    """A value as upstream writes it in a complaint."""
    if isinstance(value, str):
        return quoted(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
