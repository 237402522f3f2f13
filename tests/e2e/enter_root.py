"""Start a program in a root file system as a kubelet would: read-only, `/tmp` in memory, as user 65532.

    python enter_root.py ROOT SETTINGS COMMAND ...

SETTINGS is the folder that is seen as `/etc/stowplan`. Root changes the user for good; anybody else gets users
and mounts in namespaces of their own. A script with the standard library only: it is about
to leave the Python it runs in.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

USER = 65532

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS, _NEW_USERS = 0x20000, 0x10000000
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 32, 4096, 16384, 1 << 18
_NO_SUID, _NO_DEVICES, _NO_EXECUTION, _NO_ACCESS_TIMES = 2, 4, 8, 1024
_LOCKED = _NO_SUID | _NO_DEVICES | _NO_EXECUTION | _NO_ACCESS_TIMES
_SET_DEATH_SIGNAL, _SET_NO_NEW_PRIVILEGES = 1, 38


def main(root: str, settings: str, command: list[str]) -> None:
    """Become the program."""
    user, group = os.getuid(), os.getgid()
    call(_LIBC.unshare(_NEW_MOUNTS | (0 if user == 0 else _NEW_USERS)), "unshare")
    if user:
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"{USER} {user} 1")
        write("/proc/self/gid_map", f"{USER} {group} 1")
    mount(None, "/", _RECURSIVE | _PRIVATE)
    mount(root, root, _BIND)
    mount(settings, f"{root}/etc/stowplan", _BIND)
    for name in ("dev", "proc"):
        mount(f"/{name}", f"{root}/{name}", _BIND | _RECURSIVE)
    mount("tmpfs", f"{root}/tmp", _NO_SUID | _NO_DEVICES, "tmpfs")
    # What a mount was given by who owns it stays.
    mount(None, root, _REMOUNT | _BIND | _READ_ONLY | (os.statvfs(root).f_flag & _LOCKED))
    os.chroot(root)
    os.chdir("/")
    if user == 0:
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)
    call(_LIBC.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    # Another user, and nobody would end it with the tests.
    call(_LIBC.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0), "prctl")
    execute(command)


def execute(command: list[str]) -> None:
    """Become a program of the path, without what `os.execvp` would import: that is out of reach by now."""
    for folder in os.environ["PATH"].split(":"):
        if os.access(f"{folder}/{command[0]}", os.X_OK):
            os.execve(f"{folder}/{command[0]}", command, dict(os.environ))
    raise FileNotFoundError(f"no {command[0]} on {os.environ['PATH']}")


def mount(source: str | None, target: str, flags: int, kind: str | None = None) -> None:
    words = [word.encode() if word is not None else None for word in (source, target, kind)]
    call(_LIBC.mount(*words, ctypes.c_ulong(flags), None), f"mount {target}")


def write(name: str, text: str) -> None:
    with open(name, "w", encoding="ascii") as file:
        file.write(text)


def call(result: int, what: str) -> None:
    if result:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
