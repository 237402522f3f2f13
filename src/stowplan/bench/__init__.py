"""Kubernetes' own scheduler benchmark (`scheduler_perf`), run through the whole flow of this scheduler.

`workloads` reads a `performance-config.yaml`, `operations` says what each step means, `executor` takes the steps, and
`virtual_api` is the API server that they and the scheduler meet at; `remote_running` has a real one in its place.
`measuring` measures, `report` tells, `compare` lays two runs side by side.
"""
