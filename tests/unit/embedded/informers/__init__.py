"""How the rest of a cluster follows the API."""
