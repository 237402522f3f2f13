"""HTTP extenders: web services that are asked beside the plugins, in kube-scheduler's own protocol.

`connect.py` makes them from the configuration, `chain.py` asks several in turn, `client.py` asks one.
"""
