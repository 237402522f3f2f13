"""The search for victims: each rule alone, then the whole search on small clusters."""
