"""`stowplan up`: API server, scheduler and the rest of a cluster in one process. Start at `local/up.py`."""
