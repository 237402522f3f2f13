"""What a journal tells, as a list."""

from stowplan.table.journal import Journal


def marks(journal: Journal, position: int) -> list[int] | None:
    """Return the rows marked after a position; None for all."""
    rows = journal.since(position)
    return None if rows is None else rows.tolist()
