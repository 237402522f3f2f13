"""What the server of the scheduler's pages logs of its own: its faults, not those of clients.

Who sends bytes that are no HTTP is answered with 400. A traceback for each would let a stranger fill the log.
"""

from __future__ import annotations

import logging
from typing import Final

from aiohttp.http_exceptions import HttpProcessingError


class _OwnFaults(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


_OWN_FAULTS: Final = _OwnFaults()


def connection_log() -> logging.Logger:
    """Return the log that a server of pages is to be given."""
    log = logging.getLogger(__name__)
    log.addFilter(_OWN_FAULTS)
    return log
