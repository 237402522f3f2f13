"""The cluster as a table: one row per node, one NumPy column per fact."""
