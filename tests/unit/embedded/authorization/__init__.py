"""Unit tests of `stowplan.embedded.authorization`."""
