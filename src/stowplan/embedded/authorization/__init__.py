"""Who may do what, by roles and bindings: `authorizer` decides, `policy` knows what is written in the store.

`rules` has what somebody wants to do and the rules that allow it, `bootstrap` writes down what a new cluster has.
"""
