"""Unit tests of `stowplan.model`."""
