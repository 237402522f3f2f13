"""The image's root file system: Debian's Python, the locked libraries, the scheduler, and nothing that was run.

    python -m tools.image.root --architecture arm64 --wheel dist/stowplan-0.1.0-py3-none-any.whl build/image/arm64

`deploy/Dockerfile` and `tools/image/oci.py` make their images from it. Packages come by `tools/image/debian.py`,
libraries by uv.lock as wheels of the architecture; `leanness.py` says what is left out, `bytecode.py` compiles
the rest.
"""

from __future__ import annotations

import argparse
import configparser
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.image import debian
from tools.image.interpreter import PYTHON, Interpreter
from tools.image.leanness import is_left_out, stripped

ROOT = debian.ROOT
SITE = f"usr/local/lib/{PYTHON}/dist-packages"
UV = str(ROOT / ".uv" / "bin" / "uv")

_PLATFORMS = {"amd64": "x86_64-manylinux_2_36", "arm64": "aarch64-manylinux_2_36"}
_AUTHORITIES = "etc/ssl/certs/ca-certificates.crt"
_LINKS = {
    **{name: f"usr/{name}" for name in ("bin", "lib", "lib64", "sbin")},
    "usr/bin/python3": PYTHON,
    # Where Debian's OpenSSL looks for whom to trust.
    "usr/lib/ssl/cert.pem": f"/{_AUTHORITIES}",
    "usr/lib/ssl/certs": "/etc/ssl/certs",
    "var/run": "/run",
}
_FILES = {
    "etc/group": "root:x:0:\nnonroot:x:65532:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
    "etc/os-release": 'NAME="Stowplan on packages of Debian"\nID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n',
    "etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n",
}
_FOLDERS = ("dev", "etc/stowplan", "home/nonroot", "proc", "root", "run", "sys", "tmp", "usr/sbin")
_LAUNCHER = """\
#!/usr/bin/{python}
import sys

from {module} import {function}

sys.exit({function}())
"""


def main() -> None:
    """Make a root."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--architecture", choices=debian.ARCHITECTURES, default=debian.host_architecture())
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("root", type=Path, help="the folder to make; what is there goes")
    asked = parser.parse_args()
    build(asked.root.absolute(), asked.architecture, asked.wheel)


def build(root: Path, architecture: str, wheel: Path) -> None:
    """Make the root of an architecture from a wheel of Stowplan."""
    shutil.rmtree(root, ignore_errors=True)
    packages = debian.locked(architecture)
    debian.fetch(packages)
    _lay_out(root, packages)
    _install(root, architecture, wheel)
    _leave_out(root)
    with interpreter() as python:
        python.output([Path(__file__).with_name("bytecode.py"), root, root / SITE])
    _leave_out_empty_folders(root / "usr")


@contextmanager
def interpreter() -> Iterator[Interpreter]:
    """Have the image's Python, of this machine's architecture, while the block runs."""
    packages = debian.locked(debian.host_architecture())
    debian.fetch(packages)
    with tempfile.TemporaryDirectory() as folder:
        yield Interpreter(packages, Path(folder))


def _lay_out(root: Path, packages: Sequence[debian.Package]) -> None:
    """Write what the packages have, and what their scripts would have made."""
    for name in (*_FOLDERS, "usr/bin", "usr/lib", "usr/lib64", "etc/ssl/certs", "usr/lib/ssl", "var", SITE):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, target in _LINKS.items():
        (root / name).symlink_to(target)
    authorities = {}
    for package in packages:
        for member, content in debian.members(package):
            if member.name.startswith("usr/share/ca-certificates/") and member.isreg():
                authorities[member.name] = content
            elif not member.isdir() and not is_left_out(member.name):
                _write(root / member.name, content, member.linkname if member.issym() else None, member.mode)
        # Where scanners look up what an image without dpkg has.
        _write(root / "var/lib/dpkg/status.d" / package.name, debian.control(package))
    _write(root / _AUTHORITIES, b"".join(authorities[name] for name in sorted(authorities)))
    for name, text in _FILES.items():
        _write(root / name, text.encode())


def _write(path: Path, content: bytes, target: str | None = None, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if target is not None:
        path.symlink_to(target)
        return
    path.write_bytes(content)
    path.chmod(0o755 if mode & 0o100 else 0o644)


def _install(root: Path, architecture: str, wheel: Path) -> None:
    """Unpack the locked libraries and the wheel, and write what starts its programs."""
    exported = [UV, "export", "--frozen", "--quiet", "--no-dev", "--no-emit-project", "--no-header"]
    locked = subprocess.run(exported, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    options = ["--target", str(root / SITE), "--python-platform", _PLATFORMS[architecture], "--python-version", "3.11"]
    install = [UV, "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--link-mode=copy", *options]
    subprocess.run([*install, "--require-hashes", "--requirements", "-"], cwd=ROOT, check=True, input=locked)
    # No cache: it would answer with an earlier build of the same version.
    subprocess.run([*install, "--no-index", "--reinstall", "--no-cache", str(wheel.absolute())], cwd=ROOT, check=True)
    (information,) = (root / SITE).glob("stowplan-*.dist-info")
    for name, text in _launchers(information / "entry_points.txt"):
        _write(root / "usr/local/bin" / name, text.encode(), mode=0o755)
    _write(root / "usr/local/bin/kube-scheduler", (ROOT / "deploy/kube-scheduler").read_bytes(), mode=0o755)


def _launchers(entry_points: Path) -> Iterator[tuple[str, str]]:
    """Yield the programs that a wheel declares."""
    declared = configparser.ConfigParser()
    declared.optionxform = str  # type: ignore[assignment, method-assign]
    declared.read(entry_points, encoding="utf-8")
    for name, reference in declared["console_scripts"].items():
        module, _, function = reference.partition(":")
        yield name, _LAUNCHER.format(python=PYTHON, module=module, function=function)


def _leave_out(root: Path) -> None:
    """Remove what nobody asks for, and what follows the last segment of a library."""
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or path.is_dir():
            continue
        if is_left_out(str(path.relative_to(root))):
            path.unlink()
        elif ".so" in path.name or path.parent.name == "bin":
            mode = path.stat().st_mode
            path.write_bytes(stripped(path.read_bytes()))
            path.chmod(mode)


def _leave_out_empty_folders(folder: Path) -> None:
    for name, _, _ in os.walk(folder, topdown=False):
        if not os.listdir(name):
            os.rmdir(name)


def size(root: Path) -> int:
    """Return the bytes that the files of a root have."""
    return sum(path.lstat().st_size for path in root.rglob("*") if not path.is_dir() or path.is_symlink())


if __name__ == "__main__":
    main()
