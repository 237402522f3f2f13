"""What a feature gate is, and the stages that it may be in; `feature_gates.py` and `other_gates.py` have the gates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from stowplan.config import releases

Maturity = Literal["alpha", "beta", "GA", "deprecated"]


class Stage(msgspec.Struct, frozen=True):
    """What a gate is in a release."""

    maturity: Maturity
    default: bool
    is_locked: bool = False
    #: On by default all the same, once every part of the control plane is of this release.
    on_beside: str = ""


class Gate(msgspec.Struct, frozen=True):
    """One gate: its stages, each from the release it is written under on, what it needs, and what it switches here."""

    stages: Mapping[str, Stage]
    #: Empty: nothing asks for it yet.
    effect: str = ""
    needs: tuple[str, ...] = ()
    #: The release that has it no more, and the gate that it is a part of since; always on if there is none.
    removed_in: str = ""
    part_of: str = ""

    def at(self, release: str) -> Stage | None:
        """Return what the gate is in a release; None if the release has no such gate."""
        wanted = releases.number(release)
        if self.removed_in and wanted >= releases.number(self.removed_in):
            return None
        reached = [stage for since, stage in self.stages.items() if releases.number(since) <= wanted]
        return reached[-1] if reached else None

    def then(self, release: str, stage: Stage) -> Gate:
        """Return the gate with another stage from a release on."""
        return msgspec.structs.replace(self, stages={**self.stages, release: stage})


OFF_ALPHA: Final = Stage("alpha", False)
OFF_BETA: Final = Stage("beta", False)
ON_BETA: Final = Stage("beta", True)
ON_GA: Final = Stage("GA", True)
LOCKED: Final = Stage("GA", True, is_locked=True)
DEPRECATED_OFF: Final = Stage("deprecated", False)
DEPRECATED_ON: Final = Stage("deprecated", True)
DEPRECATED_LOCKED_OFF: Final = Stage("deprecated", False, is_locked=True)
DEPRECATED_LOCKED_ON: Final = Stage("deprecated", True, is_locked=True)
