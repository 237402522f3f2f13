"""docs/contract-reference.md: the contract of plugins, from its classes, methods and docstrings."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Final

from stowplan.framework import contract
from tools.reference_pages.markdown import prose

_HEAD: Final = """\
# Contract reference

The contract of plugins, made from [framework/contract.py](../src/stowplan/framework/contract.py) by `make
docs-generated`. All names are imported from `stowplan.framework`, which exports more ([the public
names](api.md#stowplan-framework)).

"""
_OPTIONAL: Final = "\n\nThere is a default; write it only if you need it."


def text() -> str:
    """Return the page."""
    tree = ast.parse(inspect.getsource(contract))
    about = inspect.cleandoc(contract.__doc__ or "").partition("\n\n")[2]
    body = [one for one in tree.body if isinstance(one, ast.ClassDef | ast.FunctionDef)]
    source = inspect.getsource(contract).splitlines()
    return _HEAD + _code_blocks(prose(about)) + "\n\n" + "\n".join(_entry(one, source) for one in body)


def _code_blocks(text: str) -> str:
    """Fence what is indented: a class with its methods may have an empty line."""
    parts, found = text.split("\n\n"), list[str]()
    for part in parts:
        if not part.startswith("    "):
            found.append(part)
        elif found and found[-1].endswith("```"):
            found[-1] = f"{found[-1].removesuffix('```')}\n{_outdented(part)}\n```"
        else:
            found.append(f"```python\n{_outdented(part)}\n```")
    return "\n\n".join(found)


def _outdented(part: str) -> str:
    return "\n".join(line[4:] for line in part.splitlines())


def _entry(node: ast.ClassDef | ast.FunctionDef, source: list[str]) -> str:
    if isinstance(node, ast.FunctionDef):
        return f"## {node.name}\n\n```text\n{_signature(node)}\n```\n\n{_told(node)}\n"
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    lines = [f"## {node.name}", "", *([f"A kind of `{bases}`.", ""] if bases else [])]
    told = _told(node)
    lines += [told, ""] if told else []
    for name, declared, said in _attributes(node, source):
        lines += [f"- `{name}{declared}`{': ' + said if said else ''}"]
    lines += [""] if lines[-1].startswith("- ") else []
    for method in node.body:
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and not method.name.startswith("_"):
            lines += [f"### {node.name}.{method.name}", "", f"```text\n{_signature(method)}\n```", ""]
            lines += [f"{_told(method)}{'' if _is_abstract(method) else _OPTIONAL}", ""]
    return "\n".join(lines)


def _attributes(node: ast.ClassDef, source: list[str]) -> Iterator[tuple[str, str, str]]:
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            default = f" = {ast.unparse(one.value)}" if one.value is not None else ""
            yield one.target.id, f": {ast.unparse(one.annotation)}{default}", _comment(source, one.lineno)


def _comment(source: list[str], number: int) -> str:
    found: list[str] = []
    while source[number - 2 - len(found)].strip().startswith("#:"):
        found.insert(0, source[number - 2 - len(found)].strip().removeprefix("#:").strip())
    return " ".join(found)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    prefix = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return f"{prefix} {node.name}({ast.unparse(node.args)}){returns}"


def _is_abstract(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(one) == "abstractmethod" for one in node.decorator_list)


def _told(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return prose(ast.get_docstring(node) or "")
