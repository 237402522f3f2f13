"""`stowplan up` as a whole: an API server, controllers and a scheduler in one process, met over HTTP."""
