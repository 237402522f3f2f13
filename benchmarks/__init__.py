"""Benchmarks of the deciding half: full scheduling cycles without I/O. `python -m benchmarks --help` says what runs."""
