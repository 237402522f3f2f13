"""Unit tests of `stowplan.cel`."""
