"""`stowplan`, `python -m stowplan`, `kubectl stowplan`: the command line, which hears Ctrl-C from the start."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

#: Who sets it in the environment sees where an error comes from.
TRACEBACK = "STOWPLAN_TRACEBACK"


def main() -> None:
    """Run the command line."""
    _run(_stowplan)


def kubectl_plugin() -> None:
    """Run what kubectl calls as `kubectl stowplan`."""
    _run(_kubectl_stowplan)


def _stowplan() -> None:
    from stowplan.cli import main as run

    run()


def _kubectl_stowplan() -> None:
    from stowplan.cli.kubectl_plugin import main as run

    run(prog_name="kubectl stowplan")


def _run(work: Callable[[], None]) -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        work()
    except KeyboardInterrupt:
        # It was still being loaded; nothing has begun.
        from stowplan.cli import end_interrupted

        end_interrupted(sys.argv[1:])
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        sys.exit(f"Error: {_told(error)}; this is a fault of ours: please report it with what {TRACEBACK}=1 adds")


def _told(error: Exception) -> str:
    """Say in one line what happened, and where."""
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = f" ({where.tb_frame.f_code.co_filename}:{where.tb_lineno})" if where is not None else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"


def _interrupt(number: int, frame: object) -> None:
    """End at once, whatever we are at, reading a pipe say: what asyncio does by default waits for its loop's turn."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
