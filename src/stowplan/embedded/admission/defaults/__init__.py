"""What the API server fills in where an object says nothing, kind by kind: start at `by_resource.complete`.

Only what upstream stores too is filled in. What depends on one field alone is in `declared`; what depends on other
objects is in `admission.new_objects` and its neighbours.
"""
