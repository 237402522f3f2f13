"""Tests of `stowplan.assertions`."""
