"""Unit tests of `stowplan.embedded.http`."""
