"""Unit tests of `stowplan.embedded.storage`."""
