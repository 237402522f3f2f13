"""What may be a label key or value, and how Kubernetes words it when something may not.

Selectors of all kinds (`selectors.py`, `node_selector.py`) build their errors from these.
"""

from __future__ import annotations

import json
import re
from typing import Any

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"
_LABEL_OF_DOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOMAIN = rf"{_LABEL_OF_DOMAIN}(\.{_LABEL_OF_DOMAIN})*"
_IS_NAME, _IS_VALUE, _IS_DOMAIN = re.compile(_NAME), re.compile(_VALUE), re.compile(_DOMAIN)
_INTEGER = re.compile(r"[+-]?[0-9]+")

_MAX_NAME_BYTES = 63
_MAX_DOMAIN_BYTES = 253
_CHARACTERS = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_NAME_RULE = (
    f"must consist of {_CHARACTERS} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_RULE = (
    f"a valid label must be an empty string or consist of {_CHARACTERS} "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_DOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_DOMAIN}')"
)
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


class SelectorError(ValueError):
    """A selector that cannot be used. `messages` has each complaint, the text all of them in upstream's words."""

    def __init__(self, *messages: str) -> None:
        self.messages = messages
        super().__init__(aggregate(messages))


def key_problems(key: str) -> str:
    """Why `key` is no label key, "" if it is one."""
    return "; ".join(each_key_problem(key))


def each_key_problem(key: str) -> list[str]:
    """Everything that is wrong with a label key."""
    *prefixes, name = key.split("/")
    if len(prefixes) > 1:
        domain = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_NAME_RULE} {domain}"]
    problems = [f"prefix part {problem}" for prefix in prefixes for problem in _domain_problems(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name.encode(errors="surrogatepass")) > _MAX_NAME_BYTES:
        problems.append(f"name part must be no more than {_MAX_NAME_BYTES} bytes")
    if not _IS_NAME.fullmatch(name):
        problems.append(f"name part {_NAME_RULE}")
    return problems


def value_problems(value: str) -> str:
    """Why `value` is no label value, "" if it is one."""
    if len(value) <= _MAX_NAME_BYTES and _IS_VALUE.fullmatch(value):
        return ""
    problems = []
    if len(value.encode(errors="surrogatepass")) > _MAX_NAME_BYTES:
        problems.append(f"must be no more than {_MAX_NAME_BYTES} bytes")
    if not _IS_VALUE.fullmatch(value):
        problems.append(_VALUE_RULE)
    return "; ".join(problems)


def parse_int64(text: str) -> int | None:
    """The number that Gt and Lt compare, None if the text is not one that fits an int64."""
    # Longer texts can only be numbers with leading zeros; Python refuses to read them beyond 4300 digits.
    if not _INTEGER.fullmatch(text) or len(text) > 4000:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def invalid(path: str, value: str | list[str] | None, detail: str) -> str:
    """Word the complaint that the field at `path` has a wrong value."""
    return f"{path}: Invalid value: {shown(value)}: {detail}"


def unsupported(path: str, value: str, supported: tuple[str, ...]) -> str:
    """Word the complaint that the field at `path` has a value outside a fixed list."""
    known = ", ".join(map(quoted, supported))
    return f"{path}: Unsupported value: {quoted(value)}: supported values: {known}"


def aggregate(messages: tuple[str, ...]) -> str:
    """Join complaints, each named once: bare if it is the only one, in brackets otherwise."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def quoted(text: str) -> str:
    """The text in double quotes, with escapes as upstream writes them."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _domain_problems(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    problems = []
    if len(prefix.encode(errors="surrogatepass")) > _MAX_DOMAIN_BYTES:
        problems.append(f"must be no more than {_MAX_DOMAIN_BYTES} bytes")
    if not _IS_DOMAIN.fullmatch(prefix):
        problems.append(_DOMAIN_RULE)
    return problems


def shown(value: Any) -> str:
    """A value as complaints show it: texts quoted, everything else as JSON."""
    if isinstance(value, str):
        return quoted(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    if character in _ESCAPES:
        return _ESCAPES[character]
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
