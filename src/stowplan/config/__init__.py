"""KubeSchedulerConfiguration: read, default, validate and write it.

Start in `load.py`; it names the stages in the order they happen. `types.py` is what the rest of the scheduler sees,
`declarations.py` what plugins say of themselves.
"""
