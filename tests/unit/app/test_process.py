"""A loop on a thread of its own: for plain calls, and for those made inside another loop."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import subprocess
import sys
import threading

import pytest

from stowplan.app.process import PrivateLoop


class Session:
    """Notes on which thread it was closed."""

    def __init__(self) -> None:
        self.closed_on = ""

    async def close(self) -> None:
        self.closed_on = threading.current_thread().name


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def fail() -> None:
    raise LookupError("nothing there")


def test_a_plain_call_waits_for_its_result() -> None:
    assert PrivateLoop().run(double(21), ()) == 42


def test_a_call_inside_a_loop_that_runs_waits_as_well() -> None:
    async def inside() -> int:
        return PrivateLoop().run(double(21), ())

    assert asyncio.run(inside()) == 42


def test_what_goes_wrong_is_raised_to_the_caller() -> None:
    with pytest.raises(LookupError, match="nothing there"):
        PrivateLoop().run(fail(), ())


def test_what_was_used_is_closed_where_it_was_used_when_its_owner_is_gone() -> None:
    loop, session = PrivateLoop(), Session()
    loop.run(double(1), [session])
    del loop
    gc.collect()
    assert session.closed_on == "stowplan extenders"


LARGE_BLOCKS = """
import ctypes
from stowplan.app.process import return_large_blocks


class Told(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd a b c d e".split()]


libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Told
return_large_blocks()
# What is freed teaches glibc to keep the next one of that size.
body = bytes(3 * 2**20)
del body
before = libc.mallinfo2().hblks
bodies = [bytes(2**20) for _ in range(3)]
print(libc.mallinfo2().hblks - before)
"""


@pytest.mark.skipif(sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="glibc")
def test_what_is_large_has_memory_of_its_own_that_can_go_back() -> None:
    said = subprocess.run([sys.executable, "-c", LARGE_BLOCKS], capture_output=True, text=True, check=True)
    assert said.stdout == "3\n"
