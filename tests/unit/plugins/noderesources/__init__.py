"""Unit tests of `stowplan.plugins.noderesources`."""
