"""Unit tests of `stowplan.framework.kept`."""
