"""The state of the cluster: versioned objects by resource, their changes, and their copy on disk. Start at `store`.

A `collection` has the objects of one resource and their `changes`, of which a `notifier` wakes those who wait;
`conversion` shows an object in other versions, `catalogue` lists the resources, `persistence` is the disk.
"""
