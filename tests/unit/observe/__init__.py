"""Tests of `stowplan.observe`."""
