"""PodTopologySpread: keep the siblings of a pod evenly spread over zones, hosts or any other node label."""
