"""Unit tests of `stowplan.plugins.defaultpreemption`."""
