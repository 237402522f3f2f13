"""A native library keeps what is loaded, and loses what comes after."""

import ctypes
import struct
import sys
import sysconfig
from pathlib import Path

import pytest

from tools.image.leanness import stripped

HEADER, ENTRY = 64, 56


def elf(segments: list[tuple[int, int]], length: int) -> bytes:
    """Make a file with segments, given as where they are and how long, and sections that are told of at its end."""
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, HEADER, length - 64, 0, HEADER, ENTRY, len(segments), 64, 1, 0)
    table = b"".join(struct.pack("<IIQQQQQQ", 1, 5, at, at, at, long, long, 4096) for at, long in segments)
    return (head + table).ljust(length, b"x")


@pytest.mark.parametrize(
    ("segments", "kept"),
    [
        pytest.param([(0, 300)], 300, id="one segment"),
        pytest.param([(0, 200), (1000, 50)], 1050, id="the last one counts"),
        pytest.param([(1000, 50), (0, 200)], 1050, id="in any order"),
        pytest.param([(0, 10)], HEADER + ENTRY, id="the table of segments stays"),
    ],
)
def test_it_ends_with_its_last_segment(segments: list[tuple[int, int]], kept: int) -> None:
    whole = elf(segments, 5000)
    left = stripped(whole)
    assert len(left) == kept
    assert left[HEADER:] == whole[HEADER:kept]
    # Nothing tells of sections any more.
    assert struct.unpack_from("<Q", left, 40) == (0,)
    assert struct.unpack_from("<HHH", left, 58) == (0, 0, 0)


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01 of 32 bits"])
def test_anything_else_stays_as_it_is(content: bytes) -> None:
    assert stripped(content) == content


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has libraries of this format")
def test_what_is_left_of_a_library_is_loaded(tmp_path: Path) -> None:
    site = Path(sysconfig.get_path("platlib"))
    (library,) = site.glob("httptools/parser/url_parser.*.so")
    left = tmp_path / library.name
    left.write_bytes(stripped(library.read_bytes()))
    assert left.stat().st_size < library.stat().st_size
    assert ctypes.CDLL(str(left)).PyInit_url_parser
