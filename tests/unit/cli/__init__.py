"""Tests of `stowplan.cli`."""
