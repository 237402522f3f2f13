"""Reads the source tree for the architecture tests; the rules themselves are in the test files beside it."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
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


@cache
def defined_names(path: Path) -> frozenset[str]:
    """Return what a module defines, a package also what it imports; and as `Class.member` what its classes define."""
    found: set[str] = set()
    for node in parse(path).body:
        found.update(_defined(node))
        if isinstance(node, ast.Import | ast.ImportFrom) and path.name == "__init__.py":
            found.update(alias.asname or alias.name for alias in node.names)
        if isinstance(node, ast.ClassDef):
            fields = {sub.attr for sub in ast.walk(node) if isinstance(sub, ast.Attribute)}
            members = {name for part in node.body for name in _defined(part)}
            found |= {f"{node.name}.{name}" for name in members | fields}
    return frozenset(found)


def _defined(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Assign():
            yield from (name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


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
