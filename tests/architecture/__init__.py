"""The rules of the house that a tool can check."""
