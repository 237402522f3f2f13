"""VolumeBinding: nodes where the volumes of a pod are, found, or provisioned; `plugin.py` drives it."""
