"""Reads the source tree for the architecture tests; the rules themselves are in the test files beside it."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "stowplan"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> list[Path]:
    """List every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def functions(tree: ast.Module) -> Iterator[Function]:
    """Yield every function and method, nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def parse(path: Path) -> ast.Module:
    """Parse one Python file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def label(path: Path) -> str:
    """Name a file from the repository root, for test ids and messages."""
    return path.relative_to(ROOT).as_posix()


def published_files() -> list[Path]:
    """List the files git tracks or would track; without git, as in a source archive, those of the main folders."""
    if not (ROOT / ".git").exists():
        return [path for folder in ("src", "tests", "docs") for path in (ROOT / folder).rglob("*") if path.is_file()]
    # A build machine may check out as another user than it runs as.
    command = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listing.split("\0") if name and (ROOT / name).is_file()]
