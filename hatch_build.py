"""Makes the description of the package from README.md, and puts the manual into it.

A package index has no files that relative links lead to; who installs a wheel has no `docs/` to look into.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE_IMAGE = re.compile(r"!\[[^\]]*\]\((?!https?://)[^)]+\)\n*")
_RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?://|#)[^)]+\)")


class ReadmeHook(MetadataHookInterface):
    """Adds the description."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = _RELATIVE_LINK.sub(r"\1", _RELATIVE_IMAGE.sub("", text))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class ManualHook(BuildHookInterface):
    """Puts the pages of the manual, and what they link to beside them, into `stowplan/manual`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            # The pages are where they are written.
            return
        docs = Path(self.root) / "docs"
        for pattern in ("*.md", "*.json", "plugins/*.md"):
            for path in docs.glob(pattern):
                build_data["force_include"][str(path)] = f"stowplan/manual/{path.relative_to(docs).as_posix()}"
