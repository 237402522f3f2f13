"""Unit tests of `stowplan.embedded.registry`."""
