"""Unit tests of `stowplan.serving`."""
