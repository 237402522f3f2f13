"""DynamicResources: which devices a node can reach (`inventory.py`), which ones a selector takes (`selection.py`), and
which ones the claims of a pod would be given on a node (`allocator.py`); `plugin.py` drives it.
"""
