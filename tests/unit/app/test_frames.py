"""Frames: columns by name, rows, and the libraries that are asked for only when somebody wants theirs."""

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from stowplan.app.frames import Frame, text_column


def frame() -> Frame:
    return Frame(
        {"name": text_column(["a", "=b"]), "cpu": np.array([4000, 2000]), "share": np.array([0.5, np.nan])},
    )


def test_a_frame_is_read_like_a_dict_of_columns() -> None:
    found = frame()
    assert found.columns == ("name", "cpu", "share")
    assert list(found) == ["name", "cpu", "share"]
    assert "cpu" in found
    assert "gpu" not in found
    assert found["cpu"].tolist() == [4000, 2000]
    assert {name: values.tolist() for name, values in dict(found).items() if name != "share"} == {
        "name": ["a", "=b"],
        "cpu": [4000, 2000],
    }


def test_the_length_of_a_frame_is_its_number_of_rows() -> None:
    assert len(frame()) == 2
    assert len(Frame({"name": text_column([])})) == 0
    assert len(Frame({})) == 0


def test_a_column_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(KeyError, match="there is no column 'gpu'; there are: name, cpu, share"):
        frame()["gpu"]


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"columns differ in length: {'a': 1, 'b': 2}; give each as many rows"):
        Frame({"a": np.array([1]), "b": np.array([1, 2])})


def test_a_frame_says_what_it_has() -> None:
    assert repr(frame()) == "Frame(2 rows: name, cpu, share)"


def test_rows_are_plain_values() -> None:
    assert [tuple(map(type, row)) for row in frame().rows()] == [(str, int, float), (str, int, float)]


def test_a_frame_is_written_as_csv() -> None:
    assert frame().to_csv() == 'name,cpu,share\r\na,4000,0.5\r\n"=b",2000,\r\n'


def test_a_frame_is_shown_in_a_notebook() -> None:
    text = Frame({"name": text_column(["<script>"])})._repr_html_()
    assert "&lt;script&gt;" in text
    assert "<script>" not in text
    many = Frame({"n": np.arange(30)})._repr_html_()
    assert many.endswith("<p>and 10 more</p>")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_is_given_the_columns(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in: Any = ModuleType(library)
    stand_in.DataFrame = lambda columns: {name: values.dtype.kind for name, values in columns.items()}
    monkeypatch.setitem(sys.modules, library, stand_in)
    assert getattr(frame(), f"to_{library}")() == {"name": "U", "cpu": "i", "share": "f"}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_installed_is_named_with_the_remedy(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    problem = rf"Frame\.to_{library} needs {library}, which cannot be imported \(.+\); pip install {library}, or take"
    with pytest.raises(ImportError, match=problem):
        getattr(frame(), f"to_{library}")()


def test_pandas_takes_a_frame() -> None:
    pytest.importorskip("pandas", reason="pandas is optional, and not installed here")
    found = frame().to_pandas()
    assert list(found.columns) == ["name", "cpu", "share"]
    assert found["cpu"].sum() == 6000
    assert found["name"].tolist() == ["a", "=b"]


def test_polars_takes_a_frame() -> None:
    pytest.importorskip("polars", reason="polars is optional, and not installed here")
    found = frame().to_polars()
    assert found.columns == ["name", "cpu", "share"]
    assert found["cpu"].sum() == 6000
    assert found["name"].to_list() == ["a", "=b"]
