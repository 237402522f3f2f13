"""The formats of strings that upstream checks in custom resources; any other `format` says nothing about a value."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable
from datetime import date
from typing import Final

from stowplan.embedded.objects.resource import Object
from stowplan.model import duration

_ATOM: Final = r'[^\s@".,;:<>()\[\]\\]+'
_ADDRESS: Final = re.compile(rf'(?:"(?:[^"\\]|\\.)*"|{_ATOM}(?:\.{_ATOM})*)@(?:{_ATOM}(?:\.{_ATOM})*|\[[^\]\s]*\])')
_NUMBERS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}
_HEX: Final = "[0-9a-fA-F]"
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_LONG_DURATION: Final = re.compile(r"(\d{1,18})\s*([A-Za-zµ]+)")
_UNITS: Final = frozenset(("ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"))
_UNIT_STARTS: Final = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_COLOUR: Final = r"\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_CARDS: Final = (
    r"4\d{12}(?:\d{3})?",
    r"5[1-5]\d{14}",
    r"6(?:011|5\d\d)\d{12}",
    r"3[47]\d{13}",
    r"3(?:0[0-5]|[68]\d)\d{11}",
    r"(?:2131|1800|35\d{3})\d{11}",
)
_LABEL_MOST: Final = 63
_NAME_MOST: Final = 253
_HOST_MOST: Final = 255


def unrecognized(schema: Object) -> str:
    """Return the format of a schema if it is one that is not checked; else nothing."""
    name, kind = schema.get("format"), schema.get("type")
    if not isinstance(name, str) or not name:
        return ""
    known = _NUMBERS.get(str(kind), ()) if kind not in (None, "", "string") else _known(name)
    return "" if name in known else name


def fits(name: str, value: str) -> bool:
    """Say whether a string has a format; one that is not known fits."""
    check = _CHECKS.get(name.replace("-", ""))
    return check is None or check(value)


def _known(name: str) -> tuple[str, ...]:
    return (name,) if name.replace("-", "") in _CHECKS else ()


def _pattern(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda value: compiled.fullmatch(value) is not None


def _is_date(value: str) -> bool:
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value) is None:
        return False
    year, month, day = map(int, value.split("-"))
    try:
        # Year 0 is one there, and a leap year.
        date(year or 2000, month, day)
    except ValueError:
        return False
    return True


def _is_date_time(value: str) -> bool:
    parts = value.lower().split("t")
    found = _TIME.fullmatch(parts[1]) if len(parts) > 1 and _is_date(parts[0]) else None
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _is_duration(value: str) -> bool:
    try:
        duration.parse(value)
    except ValueError:
        units = [unit.lower() for _, unit in _LONG_DURATION.findall(value)]
        return any(unit in _UNITS or unit.startswith(_UNIT_STARTS) for unit in units)
    return True


def _is_ipv4(value: str) -> bool:
    """Any address with a dot, leading zeros allowed, as upstream has it."""
    return "." in value and (_is_address(_plain(value)) or (":" in value and _is_address(value)))


def _is_ipv6(value: str) -> bool:
    return ":" in value and _is_address(value)


def _is_address(value: str) -> bool:
    try:
        return "%" not in value and ipaddress.ip_address(value) is not None
    except ValueError:
        return False


def _is_cidr(value: str) -> bool:
    address, slash, bits = value.partition("/")
    if not slash or not (bits.isascii() and bits.isdigit()):
        return False
    plain = _plain(address) if ":" not in address else address
    return _is_address(plain) and int(bits[:9]) <= (128 if ":" in plain else 32)


def _plain(address: str) -> str:
    """Take the leading zeros out of an IPv4 address."""
    parts = [part.lstrip("0") or "0" if len(part) < _LABEL_MOST else part for part in address.split(".")]
    return ".".join(parts) if all(address.split(".")) else address


def _is_uri(value: str) -> bool:
    """An absolute URI or an absolute path."""
    if re.search(r"[\x00-\x20\x7f]", value) or re.search(r"%(?![0-9A-Fa-f]{2})", value):
        return False
    found = re.match(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?://(?:[^/?#@]*@)?([^/?#]*))?", value)
    is_absolute = value == "*" or value.startswith("/") or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", value) is not None
    return (
        is_absolute
        and re.fullmatch(r"(?:\[[^\]]*\]|[^\[\]:]*)(?::[0-9]*)?", found[1] or "" if found else "") is not None
    )


def _is_email(value: str) -> bool:
    """An address, alone or in angle brackets after a name."""
    found = re.fullmatch(r"[^<>]*<([^<>]*)>\s*", value)
    return _ADDRESS.fullmatch(found[1] if found else value.strip()) is not None


def _is_hostname(value: str) -> bool:
    if len(value.encode()) > _HOST_MOST or any(len(part.encode()) > _LABEL_MOST for part in value.split(".")):
        return False
    *labels, last = value.split(".")
    if labels:
        return all(map(_is_host_label, labels)) and len(last) > 1 and last.isalpha()
    # A name of one label may have a dash in the second place only; that is upstream's rule.
    return last[:1] != "-" and _is_host_label(last[:1] + last[1:].removeprefix("-")) and "-" not in last[2:]


def _is_host_label(label: str) -> bool:
    return label.strip("-") == label != "" and all(map(_is_letter, label.replace("-", "")))


def _is_letter(each: str) -> bool:
    return each in "0123456789" or unicodedata.category(each)[0] in "LS"


def _is_isbn10(value: str) -> bool:
    digits = re.sub(r"[\s-]+", "", value)
    if re.fullmatch(r"[0-9]{9}(?:X|[0-9])", digits) is None:
        return False
    numbers = [10 if each == "X" else int(each) for each in digits]
    return sum((at + 1) * number for at, number in enumerate(numbers)) % 11 == 0


def _is_isbn13(value: str) -> bool:
    digits = re.sub(r"[\s-]+", "", value)
    return re.fullmatch(r"[0-9]{13}", digits) is not None and _weighted(digits) % 10 == 0


def _weighted(digits: str) -> int:
    return sum(int(each) * (3 if at % 2 else 1) for at, each in enumerate(digits))


def _is_card(value: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", value)
    if re.fullmatch("|".join(_CARDS), digits) is None:
        return False
    doubled = [int(each) * (2 if at % 2 else 1) for at, each in enumerate(reversed(digits))]
    return sum(number if number < 10 else number % 10 + 1 for number in doubled) % 10 == 0


_NAME: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _pattern(_HEX + "{24}"),
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _pattern(
        rf"{_HEX}{{2}}(?:(?::{_HEX}{{2}}){{5}}|(?:-{_HEX}{{2}}){{5}}|(?::{_HEX}{{2}}){{7}}|(?:-{_HEX}{{2}}){{7}}"
        rf"|(?::{_HEX}{{2}}){{19}}|(?:-{_HEX}{{2}}){{19}})|{_HEX}{{4}}(?:(?:\.{_HEX}{{4}}){{2}}|(?:\.{_HEX}{{4}}){{3}}"
        rf"|(?:\.{_HEX}{{4}}){{9}})"
    ),
    "uuid": _pattern(rf"{_HEX}{{8}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
    "uuid3": _pattern(rf"{_HEX}{{8}}-?{_HEX}{{4}}-?3{_HEX}{{3}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
    "uuid4": _pattern(rf"{_HEX}{{8}}-?{_HEX}{{4}}-?4{_HEX}{{3}}-?[89abAB]{_HEX}{{3}}-?{_HEX}{{12}}"),
    "uuid5": _pattern(rf"{_HEX}{{8}}-?{_HEX}{{4}}-?5{_HEX}{{3}}-?[89abAB]{_HEX}{{3}}-?{_HEX}{{12}}"),
    "isbn": lambda value: _is_isbn10(value) or _is_isbn13(value),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_card,
    # Both separators have to be there: upstream asks for eleven characters.
    "ssn": _pattern("[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}"),
    "hexcolor": _pattern(rf"#?(?:{_HEX}{{3}}|{_HEX}{{6}})"),
    "rgbcolor": _pattern(rf"rgb\({_COLOUR},{_COLOUR},{_COLOUR}\)"),
    "byte": _pattern(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda value: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda value: len(value) <= _LABEL_MOST and _pattern(_NAME)(value),
    "k8slongname": lambda value: len(value) <= _NAME_MOST and _pattern(rf"{_NAME}(?:\.{_NAME})*")(value),
}
