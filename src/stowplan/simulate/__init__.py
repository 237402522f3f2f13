"""The scheduler without a cluster and without waiting: virtual time, and a cluster that only takes notes."""
