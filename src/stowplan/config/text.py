"""From a configuration text, JSON or YAML, to a document.

YAML is read by `yaml_text.py`, which is imported only when the text is not JSON. `decode.py` reads the document.
"""

from __future__ import annotations

import json

from stowplan.config.document import Document, Json, Number, Object
from stowplan.config.errors import ConfigError


def parse(text: str) -> Document:
    """Read a text as JSON if it starts like an object, else as YAML."""
    try:
        if text.lstrip().startswith("{"):
            return Document(_parse_json(text), text)
        from stowplan.config import yaml_text

        root, faults = yaml_text.parse(text)
        return Document(root, text, faults)
    except RecursionError:
        raise ConfigError("decode", "the configuration is nested too deeply") from None


def _parse_json(text: str) -> Json:
    try:
        root: Json = json.loads(
            text,
            object_pairs_hook=lambda pairs: Object(tuple(pairs)),
            parse_int=Number,
            parse_float=Number,
            parse_constant=_refuse_constant,
        )
    except ValueError as error:
        raise ConfigError("decode", f"couldn't get version/kind; json parse error: {error}") from None
    return root


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")
