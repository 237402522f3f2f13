"""Bytes written as base64, in the one usual way.

Lines may be broken anywhere, and bits that stand for nothing are none.
"""

from __future__ import annotations

import base64
import binascii
import re

_LINE_BREAKS = re.compile(r"[\r\n]")


def decoded(text: str) -> bytes:
    """Return the bytes; raise ValueError, in upstream's words, at the first character that is out of place."""
    try:
        return base64.b64decode(_LINE_BREAKS.sub("", text), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"illegal base64 data at input byte {_first_fault(text)}") from None


def _first_fault(text: str) -> int:
    found = re.match(r"[A-Za-z0-9+/\r\n]*", text)
    good = found.end() if found else 0
    if good < len(text) and text[good] != "=":
        return good
    return good - len(_LINE_BREAKS.sub("", text[:good])) % 4
