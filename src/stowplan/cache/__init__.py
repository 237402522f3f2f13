"""Owner of the nodes and the placed pods, assumed or confirmed."""
