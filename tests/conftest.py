"""Settings shared by all tests."""

from hypothesis import settings

# A deadline measures the machine, not the code.
settings.register_profile("stowplan", deadline=None)
settings.load_profile("stowplan")
