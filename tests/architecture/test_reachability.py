"""Nothing is built that no program uses: every module is imported, in the end, by something that is shipped."""

import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from stowplan.cli import SUBCOMMANDS
from stowplan.plugins import IN_TREE
from tests.architecture.source_tree import PACKAGE, ROOT, modules, parse

#: What users import by name, as the manual tells them to; beside the scripts and entry points of pyproject.toml.
PUBLIC = ("stowplan", "stowplan.testing", "stowplan.simulate", "stowplan.framework", "stowplan.framework.contract")
#: Run as `python -m stowplan`.
PROGRAMS = ("stowplan.__main__",)


def test_every_module_is_reached_from_something_that_is_shipped() -> None:
    known = names()
    imports = {name: set(_imports(parse(path), name, known)) for name, path in known.items()}
    for loader, loaded in _loaded_by_name().items():
        imports[loader].update(loaded)
    unreached = sorted(known.keys() - _reached(_entries(), imports))
    assert unreached == [], "wire these modules into a program, or delete them; tests do not count"


def test_a_module_that_nothing_imports_is_not_reached() -> None:
    imports = {"a": {"b"}, "b": {"a"}, "c": {"b"}, "d": set[str]()}
    assert _reached(["a"], imports) == {"a", "b"}


def test_imports_inside_functions_and_for_types_are_told_apart() -> None:
    known = {"stowplan.a": Path(), "stowplan.b": Path(), "stowplan.c": Path(), "stowplan": Path()}
    text = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from stowplan import a\n"
        "def late():\n    from stowplan.b import thing\n    import stowplan.c\n"
    )
    assert set(_imports(ast.parse(text), "stowplan.d", known)) == {"stowplan", "stowplan.b", "stowplan.c"}


def names() -> Mapping[str, Path]:
    """Return every module by its dotted name."""
    return {_dotted(path): path for path in modules()}


def _dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _entries() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    targets = [*project.get("scripts", {}).values(), *project.get("gui-scripts", {}).values()]
    for group in project.get("entry-points", {}).values():
        targets += group.values()
    shipped = [*PUBLIC, *PROGRAMS, *(target.partition(":")[0] for target in targets)]
    known = names()
    return [name for name in shipped if name in known]


def _loaded_by_name() -> dict[str, set[str]]:
    """Return the modules that are imported by a name made at run time, by whoever imports them."""
    return {
        "stowplan.cli": {f"stowplan.cli.{name}" for name in SUBCOMMANDS},
        "stowplan.plugins": {f"stowplan.plugins.{reference.partition(':')[0]}" for reference in IN_TREE},
    }


def _reached(entries: Iterable[str], imports: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(entries)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += imports[name]
    return reached


def _imports(tree: ast.Module, name: str, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield what a module imports of the package, wherever in it; what only type checkers import does not count."""
    for node in _nodes(tree):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield from _with_parents(alias.name, known)
            case ast.ImportFrom():
                assert node.level == 0, f"{name}: imports are absolute"
                for alias in node.names:
                    yield from _with_parents(f"{node.module}.{alias.name}", known)


def _with_parents(name: str, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield a module and the packages around it, which are imported with it."""
    while name:
        if name in known:
            yield name
        name = name.rpartition(".")[0]


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for other in node.orelse:
                yield other
                yield from _nodes(other)
            continue
        yield node
        yield from _nodes(node)
