"""Makes the description of the package from README.md: a package index has no files that relative links lead to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE_IMAGE = re.compile(r"!\[[^\]]*\]\((?!https?://)[^)]+\)\n*")
_RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?://|#)[^)]+\)")


class ReadmeHook(MetadataHookInterface):
    """Adds the description."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = _RELATIVE_LINK.sub(r"\1", _RELATIVE_IMAGE.sub("", text))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
