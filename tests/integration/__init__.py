"""Unit tests of `stowplan.tests.integration`."""
