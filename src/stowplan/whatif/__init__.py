"""Questions to a cluster before it is changed: would this fit, how many, what if nodes go or come, whom would it evict.

Each question is a function over a `World`, which `Cluster.suppose` gives; whatever it does there is taken back.
`requests.py` reads steps and questions as they are sent to a running scheduler, and `tables.py` writes answers.
"""
