"""A frame: columns of one length as NumPy arrays, for whoever calculates with what a cluster holds.

It is what `Cluster.nodes_frame()` and the like return: a copy, which does not follow the cluster. pandas and polars are
asked for only where somebody wants one of theirs.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan.framework import html_text
from stowplan.observe.csv_text import csv_text

Values = NDArray[Any]


class Frame:
    """Columns by name, in a fixed order; `len` is the number of rows, and `dict(frame)` a plain dict of the columns."""

    def __init__(self, columns: Mapping[str, Values]) -> None:
        """Take columns of one length."""
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns differ in length: {lengths}; give each as many rows as the others")
        self._columns = dict(columns)
        self._length = next(iter(lengths.values()), 0)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    def keys(self) -> tuple[str, ...]:
        return self.columns

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> Values:
        if name not in self._columns:
            raise KeyError(f"there is no column {name!r}; there are: {', '.join(self._columns)}")
        return self._columns[name]

    def __repr__(self) -> str:
        return f"Frame({len(self)} rows: {', '.join(self._columns)})"

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield the rows as plain Python values."""
        yield from zip(*(values.tolist() for values in self._columns.values()), strict=True)

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame`; raise ImportError if pandas is not installed."""
        return _library("pandas", "to_pandas").DataFrame(dict(self._columns))

    def to_polars(self) -> Any:
        """Return a `polars.DataFrame`; raise ImportError if polars is not installed."""
        return _library("polars", "to_polars").DataFrame(dict(self._columns))

    def to_csv(self) -> str:
        """Return the text of a CSV file, as RFC 4180 has it: lines end in CR LF."""
        return csv_text(self.columns, self.rows())

    def _repr_html_(self) -> str:
        return html_text.table(self.columns, self.rows(), len(self))


def text_column(values: list[str]) -> Values:
    """Make a column of texts, which is one of texts also where there are none."""
    return np.array(values, dtype=np.str_)


def _library(name: str, asked: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        remedy = f"pip install {name}, or take the columns: frame['name'] is a NumPy array, frame.to_csv() a text"
        raise ImportError(f"Frame.{asked} needs {name}, which cannot be imported ({error}); {remedy}") from error
