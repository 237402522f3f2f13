"""What of the packages and libraries the image goes without: tests, sources of C, headers, symbols for debuggers.

Each line says what nobody asks for where a scheduler runs; tests/e2e/test_image.py starts what is left.
"""

from __future__ import annotations

import struct
from fnmatch import fnmatch

#: Paths in the root, as `fnmatch` reads them: `*` is any text, with slashes.
_LEFT_OUT = (
    # Debian: everything to read but the licences; character sets other than UTF-8; what is for developing.
    "usr/share/*",
    "usr/lib/*-linux-gnu/gconv/*",
    "usr/lib/*-linux-gnu/engines-3/*",
    "usr/lib/binfmt.d/*",
    "usr/lib/valgrind/*",
    "usr/lib/*-linux-gnu/audit/*",
    "usr/sbin/*",
    "etc/ca-certificates/*",
    "etc/cron*",
    "etc/mailcap*",
    "var/lib/*",
    # Python: what draws windows, installs packages, translates Python 2, tests itself or is a manual.
    "usr/lib/python3*/__pycache__/*",
    "usr/lib/python3*/*/__pycache__/*",
    *(
        f"usr/lib/python3*/{name}/*"
        for name in ("ensurepip", "idlelib", "lib2to3", "pydoc_data", "sqlite3", "test", "tkinter", "turtledemo")
    ),
    # Those have libraries that are not here.
    *(
        f"usr/lib/python3*/lib-dynload/{name}.*"
        for name in ("_[!z]*test*", "_curses*", "_dbm", "_sqlite3", "_uuid", "nis", "readline")
    ),
    # Libraries: what they are made from and tested with.
    "*/dist-packages/*.[chs]",
    "*/dist-packages/*.[ch]pp",
    "*/dist-packages/*.[ch]xx",
    "*/dist-packages/*.a",
    "*/dist-packages/*.pxd",
    "*/dist-packages/*.pxi",
    "*/dist-packages/*.pyi",
    "*/dist-packages/*.pyx",
    "*/dist-packages/*/py.typed",
    "*/dist-packages/bin/*",
    "*/dist-packages/.lock",
    "*/dist-packages/numpy/distutils/*",
    "*/dist-packages/numpy/f2py/*",
    "*/dist-packages/numpy/*tests/*",
    "*/dist-packages/numpy/*_tests.*.so",
    "*/dist-packages/numpy/_core/_simd.*.so",
    "*/dist-packages/kubernetes_asyncio/*test*",
    "*/dist-packages/kubernetes_asyncio/README.md",
    "*/dist-packages/cel_expr_python/ext/ext_encoders.*",
    "*/dist-packages/cel_expr_python/ext/ext_math.*",
    "*/dist-packages/cel_expr_python/ext/ext_proto.*",
    # What an installer keeps for itself.
    *(
        f"*/dist-packages/*.dist-info/{name}"
        for name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_*.json", "sboms/*")
    ),
    # The image holds a scheduler, and no API server; `stowplan up` says so there.
    "*/dist-packages/stowplan/embedded/*",
    "*/dist-packages/stowplan/local/*",
)
_KEPT = ("usr/share/doc/*/copyright",)


def is_left_out(name: str) -> bool:
    """Say whether the image goes without a file, by its path in the root."""
    return not any(fnmatch(name, kept) for kept in _KEPT) and any(fnmatch(name, left) for left in _LEFT_OUT)


def stripped(content: bytes) -> bytes:
    """Return a library as it is loaded: without what follows its last segment, symbols and notes for debuggers.

    The loader reads program headers alone, so this needs no tools of the library's architecture. What is no 64-bit
    little-endian ELF file comes back as it is.
    """
    if content[:6] != b"\x7fELF\x02\x01":
        return content
    (headers,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    end = headers + size * count
    for place in range(headers, end, size):
        offset, length = (struct.unpack_from("<Q", content, place + field)[0] for field in (8, 32))
        end = max(end, offset + length)
    head = bytearray(content[:end])
    # Where the table of sections was, how many it had, and which of them had their names.
    struct.pack_into("<Q", head, 40, 0)
    struct.pack_into("<HHH", head, 58, 0, 0, 0)
    return bytes(head)
