"""The golden corpus: what kube-scheduler decided, case by case and field by field, against what we decide.

`python -m tests.conformance` runs it; `running.py` says how, `cycle.py` is the checker of whole scheduling cycles.
"""
