"""The kubeconfig of an embedded cluster: how `stowplan up` tells kubectl, and our other commands, where it is."""

from __future__ import annotations

import base64
import fcntl
import os
import tempfile
from pathlib import Path
from typing import Any

from stowplan.embedded.objects import private_files
from stowplan.kube.local_kubeconfig import DEFAULT_PATH, NAME, Access, read


class KubeconfigError(Exception):
    """The file cannot be written, or is not ours to write; the text names it and says what to do."""


def check_free(path: Path) -> None:
    """Raise KubeconfigError if the file leads to a cluster that runs, or is another program's."""
    found = read(path)
    if found is None:
        if path.is_dir() or (path.is_file() and path.stat().st_size):
            what = "a folder" if path.is_dir() else "another program's"
            raise KubeconfigError(f"{path} is {what}; name another file with --kubeconfig")
    elif _is_held(path):
        raise KubeconfigError(
            f"{path} leads to a cluster that runs, at {found.server}; end that one, or name another file with"
            " --kubeconfig"
        )


def publish(path: Path, access: Access) -> int:
    """Write the file, and hold it until the descriptor that comes back is closed or the process ends.

    Raise KubeconfigError if it is not free or cannot be written.
    """
    try:
        check_free(path)
        return _put(path, yaml_of(access))
    except private_files.NotPrivateError as error:
        raise KubeconfigError(str(error)) from None
    except OSError as error:
        problem = f"{path}: cannot be written: {error.strerror}"
        raise KubeconfigError(f"{problem}; name a file that can be with --kubeconfig") from None


def write(path: Path, access: Access) -> None:
    """Write the file for a cluster that somebody else looks after."""
    os.close(_put(path, yaml_of(access)))


def yaml_of(access: Access) -> str:
    """Return the text of a kubeconfig."""
    import yaml

    cluster: dict[str, Any] = {"server": access.server}
    if access.authority:
        cluster["certificate-authority-data"] = base64.b64encode(access.authority.encode()).decode()
    if access.server_name:
        cluster["tls-server-name"] = access.server_name
    if access.scheduler:
        # What kubectl does not know it leaves alone here.
        cluster["extensions"] = [{"name": NAME, "extension": {"scheduler": access.scheduler}}]
    user = {"token": access.token} if access.token else {}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": "default"}}],
        "current-context": NAME,
    }
    text: str = yaml.safe_dump(content, sort_keys=False)
    return text


def _put(path: Path, text: str) -> int:
    """Write the file, readable by its owner only: it may hold a token. Return its descriptor, which is locked."""
    is_ours = path == DEFAULT_PATH
    path.parent.mkdir(private_files.FOLDER_MODE if is_ours else 0o777, parents=True, exist_ok=True)
    if is_ours:
        private_files.close_folder(path.parent)
        # The folder is nobody's work: it must not end up in a repository.
        (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    # A reader finds the old file or the new one, never half of one.
    # Nobody knows its name beforehand, and it is new: where others may write, they have put nothing in its place.
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    scratch = Path(name)
    try:
        os.fchmod(descriptor, private_files.FILE_MODE)
        os.write(descriptor, text.encode())
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        scratch.replace(path)
    except BaseException:
        os.close(descriptor)
        scratch.unlink(missing_ok=True)
        raise
    return descriptor


def _is_held(path: Path) -> bool:
    """Say whether a process that lives has published the file: its lock goes with it, however it ends."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
