"""Every kubelet of the cluster, played by one: pods run, report and end, nodes say that they are there."""
