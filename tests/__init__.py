"""Tests of Stowplan; see ARCHITECTURE.md for what lives where."""
