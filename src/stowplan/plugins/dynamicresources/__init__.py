"""DynamicResources: devices for the claims of pods; `plugin.py` drives it.

`pools.py` knows which devices a node can reach, `claims.py` and `pod_claims.py` the claims of a pod, `claim_tracker.py`
which claims are on their way. `dra_state.py` keeps what allocating came to on each node; `allocator.py` and `search.py`
allocate on one; `pre_bind.py` writes it down before the pod is bound.
"""
