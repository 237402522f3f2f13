"""Numbers by driver and row."""

from __future__ import annotations

from stowplan.plugins.nodevolumelimits.attach_columns import DriverColumns


def test_a_row_without_a_number_has_that_of_rows_without() -> None:
    columns = DriverColumns(missing=7)
    columns.put(1, {"ebs": 3})
    assert columns.of("ebs", 3).tolist() == [7, 3, 7]
    assert columns.of("pd", 2).tolist() == [7, 7]


def test_the_numbers_of_a_row_are_replaced() -> None:
    columns = DriverColumns(missing=0)
    columns.put(0, {"ebs": 3, "pd": 2})
    columns.put(0, {"pd": 1})
    assert (columns.of("ebs", 1).tolist(), columns.of("pd", 1).tolist()) == ([0], [1])
    assert (dict(columns.on(0)), dict(columns.on(1))) == ({"pd": 1}, {})


def test_there_is_room_for_any_row() -> None:
    columns = DriverColumns(missing=0)
    columns.put(2, {"ebs": 5})
    columns.put(1000, {"ebs": 6})
    column = columns.of("ebs", 3000)
    assert (len(column), column[2], column[1000], int(column.sum())) == (3000, 5, 6, 11)


def test_a_driver_is_known_once_a_row_had_a_number_for_it() -> None:
    columns = DriverColumns(missing=0)
    assert not columns.has("ebs")
    columns.put(0, {"ebs": 1})
    assert columns.has("ebs")
