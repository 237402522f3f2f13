"""What runs: the release of Kubernetes whose decisions are followed, and this program's own."""

from __future__ import annotations

from typing import Final

from stowplan import __version__
from stowplan.observe.component_metrics import FOLLOWED

VERSION: Final = f"{FOLLOWED}-stowplan.{__version__}"
USER_AGENT: Final = f"stowplan/{__version__} (kube-scheduler/{FOLLOWED})"
