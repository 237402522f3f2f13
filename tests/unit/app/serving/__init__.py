"""Unit tests of `stowplan.app`."""
