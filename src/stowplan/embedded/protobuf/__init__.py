"""Request bodies in the binary form that kubectl prefers for built-in kinds, read into the JSON form.

`reading` takes bytes apart and joins them by the numbers that the types of the release (`types`) have for their fields.
Answers are always JSON, which every client that sends this form accepts.
"""
