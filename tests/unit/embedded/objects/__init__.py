"""Unit tests of `stowplan.embedded.objects`."""
