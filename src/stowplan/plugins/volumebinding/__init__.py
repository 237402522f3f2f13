"""VolumeBinding: nodes where the volumes of a pod are, could be found, or could be provisioned; `plugin.py` drives it."""
