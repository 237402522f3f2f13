"""Tests of `stowplan.whatif`."""
