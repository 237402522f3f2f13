"""Unit tests of `stowplan.tests.integration.extenders`."""
