"""A real Helm and three charts of our own, on a whole cluster: `stowplan up` gives what upstream's programs give."""
