"""How the command line says that it cannot go on: one sentence, no traceback, exit code 2."""

from __future__ import annotations

import click


class BadInputError(click.ClickException):
    """What was given cannot be used; the text names the file, the object, the field and what to do."""

    exit_code = 2


class BadConfigError(BadInputError):
    """A configuration that cannot be used; the text names its source, the stage that refused it and the field."""
