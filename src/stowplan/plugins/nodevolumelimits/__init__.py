"""NodeVolumeLimits: how many volumes are attached to each node, and how many can be; `plugin.py` drives it."""
