"""The way to an API server: credentials, requests, list and watch, writes, events, leader election.

Imports nothing but the model: `app` joins it with the flow. Start at `client.py`, which everything else speaks
through; `informer.py` reads the cluster, `writes.py` changes it.
"""
