"""Where in a plugin's own code something went wrong, and the whole way there, told once.

The message of an exception alone (`'zone'`, `list index out of range`) helps nobody to mend a plugin.
"""

from __future__ import annotations

import importlib
import traceback
from pathlib import Path
from typing import Final

_PACKAGE: Final = f"{Path(__file__).parents[1]}/"
#: Whoever asks plugins is in the way of every fault, and never its place.
_AROUND: Final = tuple(f"{_PACKAGE}{part}/" for part in ("framework", "engine", "testing", "observe", "app"))
#: What imports a plugin is on the way to it, too.
_IMPORTING: Final = str(Path(importlib.__file__).parent)


#: What a plugin that fails may raise. One that wants the whole program to end is at fault as well; what is asked for
#: from outside (Ctrl-C, a cancelled task) is not the plugin's doing.
FAULTS: Final = (Exception, SystemExit)
Fault = Exception | SystemExit


def place_of(error: BaseException) -> str:
    """Return `file:line` of the plugin where an exception came from; nothing if no plugin was in its way."""
    frames = traceback.extract_tb(error.__traceback__)
    own = next((frame.filename for frame in frames if not _is_passage(frame.filename)), "")
    # What it called may be anybody's; the last line of its own file is where its author looks.
    lines = [frame.lineno for frame in frames if frame.filename == own and own]
    return f"{own}:{lines[-1]}" if lines else ""


def _is_passage(path: str) -> bool:
    return path.startswith((*_AROUND, "<", _IMPORTING))


def is_foreign(place: str) -> bool:
    """Tell whether a place is in a plugin from outside the package."""
    return bool(place) and not place.startswith(_PACKAGE)


def spelled(error: BaseException) -> str:
    """Spell an exception with its place."""
    place = place_of(error)
    return f"{type(error).__name__}: {error}{f' (at {place})' if place else ''}"


def said(error: BaseException) -> str:
    """Return what an exception says; a number (of who ends the program) or a key alone does not say enough."""
    text = str(error)
    is_short = isinstance(error, SystemExit | KeyError)
    return f"{type(error).__name__}: {text}" if is_short else text or type(error).__name__


def whole(error: BaseException) -> str:
    """Return the traceback of an exception."""
    return "".join(traceback.format_exception(error)).rstrip()
