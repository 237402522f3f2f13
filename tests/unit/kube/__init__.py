"""The client of an API server, piece by piece, under virtual time."""
