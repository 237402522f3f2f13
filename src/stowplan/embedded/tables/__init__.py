"""Lists and objects as tables: the columns that `kubectl get` shows. `as_table` in `table` is the way in.

The columns of the built-in resources are in one file per area, each as a list; those of a custom resource come from its
definition.
"""
