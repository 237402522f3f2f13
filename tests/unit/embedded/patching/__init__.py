"""Patches on decoded objects; no server needed."""
