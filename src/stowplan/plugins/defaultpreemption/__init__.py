"""DefaultPreemption: the search for pods to evict so that a more important one fits; decides, and evicts nobody."""
