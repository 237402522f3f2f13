"""The one exception of this package: which stage refused the configuration, and why."""

from __future__ import annotations

from typing import Literal

Stage = Literal["decode", "validate", "construct"]


class ConfigError(Exception):
    """A configuration that cannot be used.

    `stage` is `decode` (the text is not a KubeSchedulerConfiguration), `validate` (a field has a value that is not
    allowed) or `construct` (the profiles ask for plugins that do not exist or do not go together). `message` is in
    upstream's words; where those do not say which field is meant, the text of the exception puts it in front, and
    where they do not say what to do, it adds the `remedy`.
    """

    def __init__(self, stage: Stage, message: str, field: str = "", remedy: str = "") -> None:
        super().__init__(f"{field}{': ' if field else ''}{message}{'; ' if remedy else ''}{remedy}")
        self.stage: Stage = stage
        self.message = message
