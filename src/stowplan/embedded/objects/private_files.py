"""Files and folders that are their owner's alone, whatever the umask: a cluster holds Secrets, tokens and keys.

What is open to others, as older releases left it, is closed before anything is written to it, and the log says so.
"""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from typing import Final

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
_OTHERS: Final = 0o077
_PERMISSIONS: Final = 0o777

_log = logging.getLogger(__name__)


class NotPrivateError(Exception):
    """A file or folder is somebody else's, or stays open to others; the text names it and says what to do."""


def make_folder(folder: Path, own_file: str) -> None:
    """Make a folder for its owner, or close one that is there, with all files in it; `own_file` shows that it is ours.

    Raise NotPrivateError if it cannot be, or is not, ours alone, OSError if it cannot be made or read.
    """
    is_new = not folder.exists()
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    if not is_new:
        _check_is_of_its_own(folder, own_file)
    close_folder(folder)
    for path in folder.iterdir():
        if path.is_file() and not path.is_symlink():
            close(path)


def close_folder(folder: Path) -> None:
    """Take away what others may do with a folder of ours. Raise NotPrivateError if that cannot be."""
    _close(folder, folder, FOLDER_MODE)


def close(path: Path) -> None:
    """Take away what others may do with a file of ours. Raise NotPrivateError if that cannot be."""
    _close(path, path, FILE_MODE)


def open_file(path: Path, flags: int) -> int:
    """Open a file for its owner alone, and make it if it is not there; return its descriptor.

    Devices and pipes are as they are. Raise NotPrivateError if it is somebody else's, OSError if it cannot be opened.
    """
    descriptor = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            _close(path, descriptor, FILE_MODE)
    except NotPrivateError:
        os.close(descriptor)
        raise
    return descriptor


def _check_is_of_its_own(folder: Path, own_file: str) -> None:
    """Leave folders alone that are plainly for something else: closed, others would miss them."""
    if not stat.S_IMODE(folder.stat().st_mode) & _OTHERS or (folder / own_file).exists():
        return
    if any(folder.iterdir()):
        problem = f"{folder} is open to others and has files of something else in it"
        raise NotPrivateError(f"{problem}; name a folder for the cluster alone")


def _close(path: Path, opened: Path | int, mode: int) -> None:
    """Close what a path names, or a descriptor that came of it, to others."""
    found = os.stat(opened)
    if found.st_uid != os.geteuid():
        problem = f"{path} belongs to another user (uid {found.st_uid}, not {os.geteuid()})"
        raise NotPrivateError(f"{problem}, who could read and change what is kept there; name one of your own")
    before = stat.S_IMODE(found.st_mode)
    if before & _PERMISSIONS == mode:
        return
    try:
        os.chmod(opened, mode)
    except OSError as error:
        problem = f"{path} is open to others ({before:04o}) and cannot be closed to them: {error.strerror}"
        raise NotPrivateError(f"{problem}; name a place on a file system that has permissions") from None
    # Some file systems take a change of permissions and ignore it.
    after = stat.S_IMODE(os.stat(opened).st_mode)
    if after & _OTHERS:
        problem = f"{path} is open to others ({after:04o}), and its file system cannot close it to them"
        raise NotPrivateError(f"{problem}; name a place on another one")
    if before & _OTHERS:
        _log.warning("%s was open to others (%04o) and is now its owner's alone (%04o)", path, before, mode)
