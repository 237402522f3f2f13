"""Tests of `stowplan.testing`."""
