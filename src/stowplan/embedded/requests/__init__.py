"""Requests as values, and the answers that only read.

`incoming` is a request as it came, `request` what it is about; `listing` and `watching` answer from the store, as
`rendering` shows it. `discovery` says what there is; `yaml_workers` turns YAML into JSON.
"""
