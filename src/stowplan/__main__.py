"""`stowplan` and `python -m stowplan`: the command line, with an ear for Ctrl-C from its first moment on."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        from stowplan.cli import main as run

        run()
    except KeyboardInterrupt:
        # It was still being loaded; nothing has begun.
        from stowplan.cli import end_interrupted

        end_interrupted(sys.argv[1:])


def _interrupt(number: int, frame: object) -> None:
    """End at once, whatever we are at, reading a pipe say: what asyncio does by default waits for its loop's turn."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
