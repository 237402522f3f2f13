"""The scheduler without a cluster and without waiting: virtual time, and a cluster that only takes notes.

Public: a plugin that waits, writes or is asked again is tested with it; `docs/testing.md` has an example.
"""

from stowplan.simulate.fake_cluster import FakeCluster
from stowplan.simulate.virtual_time import StuckError, VirtualTimeLoop, run

__all__ = ["FakeCluster", "StuckError", "VirtualTimeLoop", "run"]
