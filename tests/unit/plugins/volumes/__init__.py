"""Unit tests of `stowplan.plugins.volumes`."""
