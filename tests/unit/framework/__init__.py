"""Unit tests of `stowplan.framework`."""
