"""The client of an API server, against a small one that behaves, and misbehaves, as it is told."""
