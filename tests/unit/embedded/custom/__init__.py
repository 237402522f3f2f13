"""Unit tests of `stowplan.embedded.custom`."""
