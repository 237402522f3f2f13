"""Unit tests of `stowplan.plugins.interpodaffinity`."""
