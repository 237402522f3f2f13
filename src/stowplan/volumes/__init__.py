"""Volumes of pods: which nodes can reach them, which could be found or made there, and how many a node can attach."""
