"""Whether the fields of an object make sense, in upstream's words: start at `by_resource.find_problems`.

A kind's rules read as a list of calls on a `field.Field`. What depends on other objects is decided elsewhere in
`admission`. Types are known to be right here: `shapes` has been asked before, and `defaults` has filled in the rest.
"""
