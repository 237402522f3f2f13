"""The page over real HTTP, of `stowplan up` and of `stowplan run`."""
