"""The composition root: configuration in, running objects out; the only place that wires."""
