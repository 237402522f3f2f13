"""Unit tests of the plugins, one file each."""
