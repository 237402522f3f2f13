"""Unit tests, at the same path as the module they test."""
