"""Unit tests of `stowplan.plugins.dynamicresources`."""
