"""What the image's own Python does with a root: compile every module, and put large libraries into one archive.

`tools/image/interpreter.py` runs this as a script, so it imports the standard library only. Bytecode is not checked
against its source (`unchecked-hash`), so that times of files mean nothing. Stowplan's own source stays beside it, for
tracebacks and `inspect`; of others only the bytecode is there.
"""

from __future__ import annotations

import py_compile
import sys
import zipfile
from pathlib import Path

#: Large, all Python, without a file of data: compressed they take a sixth.
ARCHIVED = ("kubernetes_asyncio", "pygments")
ARCHIVE = "libraries.zip"


def main(root: Path, site: Path) -> None:
    """Compile what is below `root`; `site` is its folder of libraries."""
    for source in sorted(root.rglob("*.py")):
        is_ours = source.is_relative_to(site / "stowplan")
        kept = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
        py_compile.compile(
            str(source),
            str(kept if is_ours else source.with_suffix(".pyc")),
            f"/{source.relative_to(root)}",
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    # Only now: one may be a link to another.
    for source in root.rglob("*.py"):
        if not source.is_relative_to(site / "stowplan"):
            source.unlink()
    archive(site)


def archive(site: Path) -> None:
    """Move libraries into the archive, and tell Python of it."""
    path = site.parent / ARCHIVE
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as written:
        for name in ARCHIVED:
            for module in sorted((site / name).rglob("*.pyc")):
                # The time is the earliest there is.
                written.writestr(_entry(str(module.relative_to(site))), module.read_bytes())
                module.unlink()
    (site / "libraries.pth").write_text(f"../{ARCHIVE}\n", encoding="utf-8")


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
