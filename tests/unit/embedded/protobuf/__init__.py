"""Binary request bodies."""
