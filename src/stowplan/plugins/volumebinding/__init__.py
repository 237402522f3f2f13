"""VolumeBinding: nodes where the volumes of a pod are, could be found, or could be made; `plugin.py` drives it."""
