"""The owner of pods that wait."""
