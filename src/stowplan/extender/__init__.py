"""HTTP extenders: web services that are asked beside the plugins, in kube-scheduler's own protocol.

`client.py` makes them from the configuration and asks one, `chain.py` asks several in turn.
"""
