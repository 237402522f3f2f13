"""Label and field selectors of lists and watches, from the query of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stowplan.embedded.objects.errors import bad_request
from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.storage.stored import Stored, fields_of
from stowplan.model import selectors
from stowplan.model.selectors import EVERYTHING, Selector, SelectorError

_NAME: Final = "metadata.name"
_NAMESPACE: Final = "metadata.namespace"


@dataclass(frozen=True, slots=True)
class Term:
    """One condition of a field selector: a field that must, or must not, have a value."""

    path: str
    value: str
    is_equal: bool = True


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a resource are wanted."""

    resource: Resource
    labels: Selector = EVERYTHING
    terms: tuple[Term, ...] = ()

    @classmethod
    def parse(cls, resource: Resource, label_selector: str, field_selector: str) -> Selection:
        """Read both selectors. Raise StatusError 400 if one is malformed or names a field that is not selectable."""
        terms = tuple(_parse_term(part, field_selector) for part in _split(field_selector) if part)
        for term in terms:
            if term.path not in (_NAME, _NAMESPACE, *resource.fields):
                raise bad_request(
                    f'Unable to find "{resource.plural}" that match label selector "{label_selector}", '
                    f'field selector "{field_selector}": field label not supported: {term.path}'
                )
        try:
            labels = selectors.parse_selector(label_selector) if label_selector else EVERYTHING
        except SelectorError as error:
            raise bad_request(str(error)) from None
        return cls(resource, labels, terms)

    @property
    def is_everything(self) -> bool:
        return not self.terms and self.labels.is_everything

    def matches(self, stored: Stored) -> bool:
        return (not self.terms or self._fields_match(stored)) and self.labels.matches(stored.labels)

    def _fields_match(self, stored: Stored) -> bool:
        return all((self._value(stored, term.path) == term.value) is term.is_equal for term in self.terms)

    def _value(self, stored: Stored, path: str) -> str:
        if path == _NAME:
            return stored.name
        if path == _NAMESPACE:
            return stored.namespace
        fields = stored.fields
        if self.resource.is_custom and stored.resource.fields != self.resource.fields:
            # It was written while its definition made other fields selectable.
            fields = fields_of(self.resource, stored.object)
        return fields[self.resource.fields.index(path)]


def _split(text: str) -> list[str]:
    """Split at commas; a backslash takes the next character as it is."""
    parts, start, position = [], 0, 0
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == ",":
            parts.append(text[start:position])
            start = position + 1
        position += 1
    return [*parts, text[start:]]


def _parse_term(part: str, text: str) -> Term:
    for position in range(len(part)):
        for sign in ("!=", "==", "="):
            if part.startswith(sign, position):
                value = _unescape(part[position + len(sign) :])
                return Term(part[:position], value, is_equal=sign != "!=")
    raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")


def _unescape(value: str) -> str:
    """Take the backslashes out; only a backslash, a comma and an equals sign are written with one."""
    result, position = [], 0
    while position < len(value):
        if value[position] == "\\":
            position += 1
            if position == len(value) or value[position] not in "\\,=":
                raise bad_request(f"invalid field selector: invalid escape sequence in value: {value}")
        elif value[position] in ",=":
            raise bad_request(f"invalid field selector: unescaped character in value: {value}")
        result.append(value[position])
        position += 1
    return "".join(result)
