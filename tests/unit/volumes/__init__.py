"""Tests of what is known of volumes."""
