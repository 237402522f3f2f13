"""Numbers by driver and row that are not read off nodes, such as limits: one array for each driver that has any."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

FIRST_CAPACITY: Final = 64
NONE: Final[Mapping[str, int]] = MappingProxyType({})


class DriverColumns:
    """The numbers of all rows; `missing` is that of a row that has none for a driver."""

    def __init__(self, missing: int) -> None:
        self._missing = missing
        self._columns: dict[str, NDArray[np.int64]] = {}
        self._by_row: dict[int, Mapping[str, int]] = {}
        self._capacity = FIRST_CAPACITY

    def put(self, row: int, numbers: Mapping[str, int]) -> None:
        """Replace the numbers of a row."""
        before = self._by_row.pop(row, NONE)
        if numbers:
            self._by_row[row] = numbers
        for driver in before.keys() - numbers.keys():
            self._columns[driver][row] = self._missing
        for driver, number in numbers.items():
            self._column(driver, row)[row] = number

    def on(self, row: int) -> Mapping[str, int]:
        """Return the numbers of one row by driver."""
        return self._by_row.get(row, NONE)

    def of(self, driver: str, rows: int) -> NDArray[np.int64]:
        """Return the numbers of a driver for the first rows; the array must not be changed."""
        column = self._columns.get(driver)
        if column is None:
            return np.full(rows, self._missing, dtype=np.int64)
        if rows > len(column):
            column = self._column(driver, rows)
        return column[:rows]

    def has(self, driver: str) -> bool:
        """Say whether any row has, or had, a number for a driver."""
        return driver in self._columns

    def _column(self, driver: str, row: int) -> NDArray[np.int64]:
        while row >= self._capacity:
            self._capacity *= 2
        column = self._columns.get(driver)
        if column is None or row >= len(column):
            grown = np.full(self._capacity, self._missing, dtype=np.int64)
            if column is not None:
                grown[: len(column)] = column
            column = self._columns[driver] = grown
        return column
