"""The embedded API server, piece by piece."""
