"""Lists: which objects, as of when, how many at a time. A list in pages shows one moment, however long it takes.

Label and field selectors are read here, for watches too.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from stowplan.embedded.objects.errors import StatusError, bad_request, invalid_options
from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.requests.incoming import Incoming
from stowplan.embedded.requests.request import Target
from stowplan.embedded.storage.collection import FIRST, Key
from stowplan.embedded.storage.store import Store
from stowplan.embedded.storage.stored import Stored, fields_of
from stowplan.model import selectors
from stowplan.model.selectors import EVERYTHING, Selector, SelectorError

_NAME: Final = "metadata.name"
_NAMESPACE: Final = "metadata.namespace"
EXACT: Final = "Exact"
NOT_OLDER: Final = "NotOlderThan"
_LATEST: Final = -1
#: So many objects are looked at while others wait, and of more so many at a time.
_MANY: Final = 2_000
_AT_A_TIME: Final = 2_000
_TOKEN_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class _Token(msgspec.Struct, frozen=True):
    """Where the next page begins, and of what; version -1 stands for whatever is there when it is asked for."""

    rv: int
    after: Key
    of: str


@dataclass(frozen=True, slots=True)
class Page:
    """A list, or a part of one."""

    items: list[Stored]
    version: int
    token: str = ""
    remaining: int | None = None

    def metadata(self) -> dict[str, str | int]:
        result: dict[str, str | int] = {"resourceVersion": str(self.version)}
        if self.token:
            result["continue"] = self.token
        if self.remaining is not None:
            result["remainingItemCount"] = self.remaining
        return result


def select(target: Target, request: Incoming) -> Selection:
    """Read what is wanted of a collection, or the one object that a name names."""
    fields = request.text("fieldSelector")
    if target.name:
        fields = f"metadata.name={target.name}" + (f",{fields}" if fields else "")
    return Selection.parse(target.resource, request.text("labelSelector"), fields)


def read_page(store: Store, target: Target, request: Incoming) -> Page:
    """List as a request asks. Raise StatusError if it cannot be done so."""
    selection, limit = select(target, request), _limit(request)
    found, version = _found(store, target, request)
    items, is_more = _take(found, selection, limit)
    if not is_more:
        return Page(items, version)
    remaining = sum(1 for _ in found) + 1 if selection.is_everything else None
    return Page(items, version, _token(target, version, items), remaining)


def is_long(store: Store, target: Target, request: Incoming) -> bool:
    """Whether so much has to be looked at that others should not wait for it."""
    if store.collection(target.resource).count(_namespace(target)) <= _MANY:
        return False
    has_selectors = bool(request.text("labelSelector") or request.text("fieldSelector"))
    return has_selectors or not _limit(request)


async def read_long_page(store: Store, target: Target, request: Incoming) -> Page:
    """List the objects of one moment, while others get their turn. Raise StatusError as `read_page` does."""
    selection, limit = select(target, request), _limit(request)
    found, version = _found(store, target, request)
    snapshot, items = list(found), list[Stored]()
    for start in range(0, len(snapshot), _AT_A_TIME):
        await asyncio.sleep(0)
        items += [stored for stored in snapshot[start : start + _AT_A_TIME] if selection.matches(stored)]
        if limit and len(items) > limit:
            return Page(items[:limit], version, _token(target, version, items[:limit]))
    return Page(items, version)


def _limit(request: Incoming) -> int:
    return max(0, request.number("limit") or 0)


def _token(target: Target, version: int, items: list[Stored]) -> str:
    return _encode(_Token(version, items[-1].key, target.resource.storage))


def _found(store: Store, target: Target, request: Incoming) -> tuple[Iterator[Stored], int]:
    """What there is to choose from, and as of which version."""
    _check(request)
    collection, namespace = store.collection(target.resource), _namespace(target)
    version, start = _beginning(store, target, request, is_paged=_limit(request) > 0)
    if version is None:
        return collection.after(start, namespace), store.version
    return collection.was_after(version, start, namespace), version


def read_version(request: Incoming) -> int | None:
    """The resourceVersion parameter; None if there is none. Raise StatusError 400 if it is no version."""
    text = request.text("resourceVersion")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise bad_request(f"resourceVersion: Invalid value: {text!r}: a version is a whole number that the server gave")
    return int(text)


def invalid_option(field: str, problem: str) -> StatusError:
    return invalid_options("ListOptions", f"{field}: {problem}")


def too_large(version: int, current: int) -> StatusError:
    """The version is of the future: the server was started anew without its data, or the version is made up."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return StatusError(504, "Timeout", f"Too large resource version: {version}, current: {current}", details)


def _namespace(target: Target) -> str | None:
    return target.namespace or None


def _check(request: Incoming) -> None:
    match, version = request.text("resourceVersionMatch"), request.text("resourceVersion")
    if request.flag("sendInitialEvents"):
        raise invalid_option("sendInitialEvents", "Forbidden: sendInitialEvents is forbidden for list")
    if not match:
        return
    name = "resourceVersionMatch"
    if not version:
        raise invalid_option(name, f"Forbidden: {name} is forbidden unless resourceVersion is provided")
    if request.text("continue"):
        raise invalid_option(name, f"Forbidden: {name} is forbidden when continue is provided")
    if match not in (EXACT, NOT_OLDER):
        listed = f'"{EXACT}", "{NOT_OLDER}", ""'
        raise invalid_option(name, f'Unsupported value: "{match}": supported values: {listed}')
    if match == EXACT and version == "0":
        raise invalid_option(name, f'Forbidden: {name} "exact" is forbidden for resourceVersion "0"')


def _beginning(store: Store, target: Target, request: Incoming, *, is_paged: bool) -> tuple[int | None, Key]:
    """As of which version to list (None: as it is now), and behind which key."""
    version, text = read_version(request), request.text("continue")
    if text:
        if version:
            raise bad_request("specifying resource version is not allowed when using continue")
        return _follow(store, target, _decode(text))
    if not version:
        return None, FIRST
    if version > store.version:
        raise too_large(version, store.version)
    match = request.text("resourceVersionMatch")
    is_exact = match == EXACT or (not match and is_paged)
    return (version if is_exact else None), FIRST


def _follow(store: Store, target: Target, token: _Token) -> tuple[int | None, Key]:
    """Go on where a page ended. Raise StatusError if it was none of this list, of the future, or of too long ago."""
    if token.of != target.resource.storage:
        raise bad_request(f"continue key is not valid: it is of a list of {token.of}")
    if target.namespace and token.after[0] != target.namespace:
        raise bad_request(f'continue key is not valid: it is of a list of the namespace "{token.after[0]}"')
    if token.rv == _LATEST:
        return None, token.after
    if token.rv <= 0:
        problem = "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
        raise bad_request(f"continue key is not valid: {problem}")
    if token.rv > store.version:
        raise too_large(token.rv, store.version)
    if token.rv < store.collection(target.resource).log.floor:
        anew = _encode(_Token(_LATEST, token.after, token.of))
        raise ContinuationExpiredError(anew)
    return token.rv, token.after


class ContinuationExpiredError(StatusError):
    """The moment that the list shows is gone; `token` goes on with what is there now."""

    def __init__(self, token: str) -> None:
        super().__init__(410, "Expired", _TOKEN_TOO_OLD)
        self.token = token

    def status(self) -> dict[str, object]:
        return {**super().status(), "metadata": {"continue": self.token}}


def _take(found: Iterator[Stored], selection: Selection, limit: int) -> tuple[list[Stored], bool]:
    """What fits on a page, and whether there is more."""
    if not limit:
        return [stored for stored in found if selection.matches(stored)], False
    items: list[Stored] = []
    for stored in found:
        if selection.matches(stored):
            if len(items) == limit:
                return items, True
            items.append(stored)
    return items, False


def _encode(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _decode(text: str) -> _Token:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Token)
    except (binascii.Error, ValueError, msgspec.DecodeError) as error:
        raise bad_request(f"continue key is not valid: {error}") from None


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
