"""Files, functions and parameter lists stay small enough to read in one go."""

import ast
from pathlib import Path

import pytest

from tests.architecture.source_tree import Function, functions, label, modules, parse

FILE_LINES = 400
FUNCTION_LINES = 50
PARAMETERS = 5


@pytest.mark.parametrize("path", modules(), ids=label)
def test_a_file_has_at_most_400_lines(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= FILE_LINES, f"{label(path)} has {lines} lines; split it by idea"


@pytest.mark.parametrize("path", modules(), ids=label)
def test_a_function_has_at_most_50_lines(path: Path) -> None:
    long = {f.name: n for f in functions(parse(path)) if (n := line_count(f)) > FUNCTION_LINES}
    assert long == {}, f"functions of {label(path)} with more than {FUNCTION_LINES} lines: {long}"


@pytest.mark.parametrize("path", modules(), ids=label)
def test_a_function_takes_at_most_5_parameters(path: Path) -> None:
    wide = {f.name: n for f in functions(parse(path)) if (n := parameter_count(f)) > PARAMETERS}
    assert wide == {}, f"functions of {label(path)} with more than {PARAMETERS} parameters: {wide}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("def f(): ...", 0, id="none"),
        pytest.param("def f(self, a, /, b, *, c): ...", 3, id="every kind but self"),
        pytest.param("def f(cls, a): ...", 1, id="not cls"),
        pytest.param("async def f(a, *rest, **options): ...", 3, id="collected ones count once each"),
    ],
)
def test_parameters_are_counted(source: str, expected: int) -> None:
    assert [parameter_count(f) for f in functions(ast.parse(source))] == [expected]


def line_count(function: Function) -> int:
    """Count the lines from `def` to the last statement, docstring included."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def parameter_count(function: Function) -> int:
    """Count the parameters a caller deals with."""
    spec = function.args
    named = [a.arg for a in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs] if a.arg not in ("self", "cls")]
    return len(named) + (spec.vararg is not None) + (spec.kwarg is not None)
