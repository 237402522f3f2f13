"""The controllers of a small but true cluster, one file each by the names of kube-controller-manager.

`start` starts them together. Each has informers and a queue (`stowplan.embedded.informers.controller`), and brings the
object of a key to where its spec says. Those that own pods are built on `workload` and `pod_control`. Nothing here runs
containers: `stowplan.embedded.kubelet` reports what a kubelet would.
"""
