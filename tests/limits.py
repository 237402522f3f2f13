"""How long a test waits, at most, for something that comes to pass by itself.

A safety net, so that a fault ends a run: minutes, because the machine may be busy, and never what a test is about.
"""

from typing import Final

LIMIT_SECONDS: Final = 300.0
