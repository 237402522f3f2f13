"""Plans of drains, carried out in a cluster under virtual time."""
