"""The page, driven by a real browser on `stowplan up`: `make test-page`. `world.py` has what is there to be seen."""
