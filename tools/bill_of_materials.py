"""What a release is made from, for programs to read: a bill of materials in CycloneDX's JSON.

    python -m tools.bill_of_materials --output dist/stowplan-0.1.0.cdx.json build/image/amd64 build/image/arm64

Libraries with their licences from the images' roots, Debian's packages with the checksums that
`deploy/image/packages.lock` has. The same roots make the same bytes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools import runtime_libraries
from tools.changelog import VERSION, release_time
from tools.image import debian
from tools.image.root import SITE

_OURS = f"pkg:pypi/stowplan@{VERSION}"


def main() -> None:
    """Write the bill of materials of images."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("roots", type=Path, nargs="+", help="folders that are named like their architectures")
    asked = parser.parse_args()
    text = json.dumps(bill(sorted(asked.roots)), indent=2, sort_keys=True)
    asked.output.write_text(f"{text}\n", encoding="utf-8")


def bill(roots: list[Path]) -> dict[str, Any]:
    """Return the bill of materials of images, each with the name of its architecture."""
    components = {one["bom-ref"]: one for root in roots for one in (*_libraries(root), *_packages(root.name))}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(release_time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": _OURS,
                "name": "stowplan",
                "version": VERSION,
                "purl": _OURS,
                "licenses": [{"expression": "Apache-2.0"}],
            },
        },
        "components": [components[reference] for reference in sorted(components)],
        "dependencies": [{"ref": _OURS, "dependsOn": sorted(components)}],
    }


def _libraries(root: Path) -> Iterator[dict[str, Any]]:
    for library in runtime_libraries.locked(root / SITE):
        yield {
            "type": "library",
            "bom-ref": library.purl,
            "name": library.name,
            "version": library.version,
            "purl": library.purl,
            "licenses": [{"license": {"name": library.licence}}],
        }


def _packages(architecture: str) -> Iterator[dict[str, Any]]:
    for package in debian.locked(architecture):
        address = debian.purl(package)
        yield {
            "type": "library",
            "bom-ref": address,
            "name": package.name,
            "version": package.version,
            "purl": address,
            "hashes": [{"alg": "SHA-256", "content": package.sha256}],
        }


if __name__ == "__main__":
    main()
