"""Reads YAML in a process of its own: `python -m stowplan.embedded.objects.yaml_worker`, one body after another.

YAML may take a thousand times longer to read than JSON of the same length, and nothing but the end of the process can
interrupt that. So this one has little memory, and `yaml_workers` ends it when it takes too long. Bodies come
on the standard input and answers leave on the standard output, each behind its length; an answer begins with what it
is. It ends with its input, which is when the server ends.
"""

from __future__ import annotations

import gc
import json
import struct
import sys
from typing import BinaryIO, Final

from stowplan.model import manifests
from stowplan.model.json_values import MalformedObject

#: The length of what follows.
LENGTH: Final = struct.Struct(">I")
#: What an answer begins with: the JSON that the body stands for follows, or why there is none.
READ: Final = b"+"
REFUSED: Final = b"-"
TOO_LARGE: Final = b"!"
#: What the aliases of a body may stand for: as much as a body may have.
_MOST_ALIASED_BYTES: Final = 3 * 1024 * 1024


def converted(body: bytes) -> bytes:
    """JSON for a body in YAML; null for one that says nothing. Raise MalformedObject for anything but one object."""
    documents = list(manifests.read(body, repeats_keys=True, most_bytes=_MOST_ALIASED_BYTES))
    if len(documents) > 1:
        raise MalformedObject(f"{len(documents)} YAML objects in one request; send one at a time")
    try:
        obj = documents[0] if documents else None
        return json.dumps(obj, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, TypeError, RecursionError) as fault:
        # YAML knows keys and values that no API object has.
        raise MalformedObject(f"not an object of JSON: {fault}") from None


def _answer(body: bytes) -> bytes:
    try:
        return READ + converted(body)
    except MalformedObject as fault:
        return REFUSED + str(fault).encode(errors="replace")
    except MemoryError:
        return TOO_LARGE


def _serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer until the input ends; the first answer, before anything is asked, says that it may begin."""
    _send(sink, READ)
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        _send(sink, _answer(source.read(LENGTH.unpack(head)[0])))


def _send(sink: BinaryIO, answer: bytes) -> None:
    sink.write(LENGTH.pack(len(answer)) + answer)
    sink.flush()


def _limit_memory(most_bytes: int) -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))
    except (ImportError, OSError, ValueError):
        # Not every platform can; the limit in time is there still.
        pass


if __name__ == "__main__":
    _limit_memory(int(sys.argv[1]))
    # Nothing here goes round in circles, and looking for that takes as long as the reading itself.
    gc.disable()
    # What the first body needs is there before its time is taken.
    converted(b"a: b")
    _serve(sys.stdin.buffer, sys.stdout.buffer)
