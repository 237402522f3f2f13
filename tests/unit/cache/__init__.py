"""Unit tests of `stowplan.cache`."""
