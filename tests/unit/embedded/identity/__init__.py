"""Unit tests of `stowplan.embedded.identity`."""
