"""Unit tests of `stowplan.simulate`."""
