"""The state of the cluster: versioned objects by resource, their changes, and their copy on disk. Start at `store`."""
