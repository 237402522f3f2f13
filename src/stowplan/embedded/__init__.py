"""A Kubernetes API server for local use, in one process: versioned store, watches, admission, a few controllers.

`server` has the routes, `api` what happens to an object on its way into the `store`, `controllers` and `kubelet` the
rest of a cluster. Nothing here knows the scheduler: they meet over HTTP.
"""
