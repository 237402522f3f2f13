"""Unit tests of `stowplan.app.serving`."""
