"""The embedded API server over real HTTP on loopback."""
