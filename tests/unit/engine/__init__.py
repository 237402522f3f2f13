"""Unit tests of `stowplan.engine`."""
