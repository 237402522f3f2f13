"""Kubernetes objects as data: what scheduling reads of them, and the rules that belong to a value alone.

The lowest layer: it imports nothing of Stowplan. Start at `pod.py` and `node.py` for the structs, `decode.py` for
how they come in, `quantity.py`, `selectors.py`, `node_selector.py` and `tolerations.py` for the rules.
"""
