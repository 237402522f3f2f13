"""Makes the description of the package from README.md: a package index has no files for relative links to lead to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?://|#)[^)]+\)")


class ReadmeHook(MetadataHookInterface):
    """Adds the description."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": _RELATIVE_LINK.sub(r"\1", text)}
