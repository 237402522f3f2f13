"""Resources of nodes: NodeResourcesFit (`fit.py`) and NodeResourcesBalancedAllocation."""
