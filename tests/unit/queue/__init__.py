"""Tests of the scheduling queue."""
