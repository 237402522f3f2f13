"""Unit tests of `stowplan.extender`."""
