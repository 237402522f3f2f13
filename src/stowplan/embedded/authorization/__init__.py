"""Who may do what, by roles and bindings: `authorizer` decides, `policy` knows what is written in the store.

A `question` is what somebody wants to do, `rules` say what is allowed, `bootstrap` writes down what a new cluster has.
"""
