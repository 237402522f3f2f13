"""Request bodies in the binary form that kubectl prefers for built-in kinds, read into the JSON form.

`wire` takes bytes apart, `table` knows the numbers of the fields, `reading` joins them. Answers are always JSON, which
every client that sends this form accepts.
"""
