"""Invariants that hold for every input, searched by hypothesis."""
