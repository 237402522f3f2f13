"""Tests against a real etcd and kube-apiserver, run by `make e2e`.

`plane.py` starts the control plane that `control_plane/` builds, `kubelets.py` plays the nodes, `scheduler_process.py`
starts the scheduler under test, and `api.py` is how a test reads and writes objects. `conftest.py` joins them.
`burst.py`, `accounting.py` and `fault_proxy.py` are what the tests of faults are made of.
"""
