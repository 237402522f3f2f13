"""Unit tests of `stowplan.embedded.tables`."""
