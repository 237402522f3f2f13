"""How the rest of a cluster follows the API in process: feeds into small extracts, keys into queues, keys worked off.

`follower` keeps extracts of one resource, `pods` and `nodes` those that many need, `work` the queue and its worker,
`events` what is told of it. `controllers`, `kubelet` and `heartbeats` are built on these.
"""
