"""`python -m stowplan`: the command line."""

from __future__ import annotations

from stowplan.cli import main

if __name__ == "__main__":
    main()
