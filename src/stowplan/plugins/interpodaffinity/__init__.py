"""InterPodAffinity: keep a pod near the pods it wants as neighbours and away from those it, or they, cannot stand."""
