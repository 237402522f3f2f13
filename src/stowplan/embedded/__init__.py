"""A Kubernetes API server for local use, in one process, with the controllers and kubelets of a small cluster.

Nothing here knows the scheduler: they meet over HTTP. A request comes in by `http` (`server`, `connection`, `verbs`),
`requests` reads what it is about and answers what only reads, `registry` (`api`) makes changes: it asks `admission`
and writes to `storage`. `identity` and `authorization` know who asks and what they may; `custom` serves
CustomResourceDefinitions, `tables` lays out what `kubectl get` shows; `objects` has what all of them need.
`controllers` and `kubelet` are clients within the process.
"""
