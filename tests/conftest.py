"""Settings shared by all tests.

Hypothesis looks at the same examples in every run, so that whether a change lands depends on the change and not on
luck. `make fuzz` looks at new ones, and at more of them.
"""

from hypothesis import settings

from tests.examples import PROFILE, examples

# A deadline measures the machine, not the code.
settings.register_profile("same", deadline=None, derandomize=True, max_examples=examples(100))
settings.register_profile("new", deadline=None, print_blob=True)
settings.load_profile(PROFILE)
