"""Unit tests of `stowplan.bench`."""
