"""Fuzzes the embedded cluster as a whole: `python -m tests.fuzz.embedded --seconds 3600`.

`generators` has what is sent, `attack` how it is sent and replayed, `checker` what may not happen meanwhile.
"""
