"""Unit tests of `stowplan.local`."""
