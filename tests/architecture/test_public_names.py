"""docs/api.md lists what the two public packages export: every name, with one line, and no other."""

import ast
import re
from types import ModuleType

import pytest

import stowplan
from stowplan import framework
from stowplan.framework import contract
from tests.architecture.source_tree import PACKAGE, ROOT, parse

#: Of the contract, what only the runner uses.
OF_THE_RUNNER = {"Errand", "POINTS"}


def listed(title: str) -> list[str]:
    """Return the names in the table under a heading, each of which must have a line."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", text, flags=re.MULTILINE)
    (found,) = [one for one in section if one.startswith(f"{title}\n")]
    return re.findall(r"^\| `(\w+)` \| \S.* \|$", found, re.MULTILINE)


@pytest.mark.parametrize("package", [stowplan, framework], ids=lambda package: package.__name__)
def test_the_page_lists_exactly_what_a_package_exports(package: ModuleType) -> None:
    names = listed(package.__name__)
    assert len(names) == len(set(names))
    assert sorted(names) == sorted(package.__all__)
    assert [name for name in names if getattr(package, name, None) is None] == []
    assert set(names) <= set(dir(package))


@pytest.mark.parametrize("package", [stowplan, framework], ids=lambda package: package.__name__)
def test_a_name_that_is_not_exported_is_refused_with_those_that_are(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'Clutser'; it exports "):
        getattr(package, "Clutser")  # noqa: B009 (a type checker would know)


def test_all_of_the_contract_is_exported() -> None:
    tree = parse(PACKAGE / "framework" / "contract.py")
    names = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    public = {name for name in names if not name.startswith("_")} - OF_THE_RUNNER
    assert sorted(public - set(framework.__all__)) == []
    assert [name for name in sorted(public) if getattr(framework, name) is not getattr(contract, name)] == []
