"""CustomResourceDefinitions: the resources they add to the catalogue, and what their schemas ask of objects.

`intake` is what admission calls. `definition` reads a definition, `faults` checks it, `registration` puts its resources
into the catalogue. `structure` prunes and fills in the objects of such a resource, `checking` says what is wrong with
them.
"""
