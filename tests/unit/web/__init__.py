"""Tests of `stowplan.web`."""
