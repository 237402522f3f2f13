"""Requests as values, and the answers that only read: paths, lists, watches, discovery."""
