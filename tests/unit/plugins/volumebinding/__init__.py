"""Unit tests of `stowplan.plugins.volumebinding`."""
