"""How controllers and the kubelet follow the API in process, in the words of client-go.

`informer` keeps a small extract of each object of one resource, `pods`, `nodes`, `volumes` and `claims` those that many
need. `workqueue` holds the keys of objects to look at, `event_recorder` tells what was done and what failed, and
`controller` puts all of it together. `controllers` and `kubelet` are built on these.
"""
