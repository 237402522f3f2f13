"""Tests of the description of the API."""
