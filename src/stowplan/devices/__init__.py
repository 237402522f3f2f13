"""Devices: which ones a node can reach (`inventory.py`), which ones a selector takes (`selection.py`), and which ones
the claims of a pod would be given on a node (`allocator.py`). Pure logic; `plugins/dynamic_resources.py` drives it.
"""
