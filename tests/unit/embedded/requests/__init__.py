"""Unit tests of `stowplan.embedded.requests`."""
