"""Compare what we make of a configuration file with what kube-scheduler made of it.

`check` names each field that differs. Identical wording of errors is a goal, not a requirement: a difference in it
comes under the name `wording`, so that it can be counted apart.
"""

from __future__ import annotations

import re
from typing import Any

from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import FeatureGates, default_gates
from stowplan.config.load import to_external
from tests.known_plugins import load

WORDING = "wording"

# Where the Go scheme was made says nothing to anybody else.
_SCHEME = re.compile(r' in scheme "[^"]*"')
_FIELD_FAULT = re.compile(
    r"(?:^\[?|, |: )([A-Za-z][\w.\[\]/-]*): (?:(?:Invalid|Required|Duplicate|Unsupported) value|Forbidden)"
)
_NAMED_FIELD = re.compile(r'(?:unknown|duplicate) field "([^"]*)"|Go struct field (\S+)|key "([^"]*)" already')
_DECODED_PART = re.compile(r"decoding (\.[\w.\[\]]+): ")
_QUOTED = re.compile(r'"([^"]*)"|^Object \'(\w+)\'|^yaml: (line \d+)')


def check(case: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Give (field, theirs, ours) for everything that differs in one case."""
    theirs = case["expect"]
    ours = _outcome(case["input"], default_gates(case["release"]))
    compared = [
        ("config", theirs["config"], ours["config"]),
        ("stage", theirs["stage"], ours["stage"]),
        ("field", named_fields(theirs["error"]), named_fields(ours["error"])),
        (WORDING, _worded(theirs["error"]), _worded(ours["error"])),
    ]
    return [difference for difference in compared if difference[1] != difference[2]]


def named_fields(error: str | None) -> list[str]:
    """Extract the fields that an error text names, each once, in their order.

    Where it names none, what it quotes tells what it is about: a plugin, a profile, a kind, or the line of a text.
    """
    if error is None:
        return []
    found = [(match.start(), match[1]) for match in _FIELD_FAULT.finditer(error)]
    found += [(match.start(), match[1] or match[2] or match[3]) for match in _NAMED_FIELD.finditer(error)]
    found += [(match.start(), match[1]) for match in _DECODED_PART.finditer(error)]
    if not found:
        quoted = _QUOTED.finditer(_SCHEME.sub("", error))
        found = [(match.start(), match[1] or match[2] or match[3] or "") for match in quoted]
    return list(dict.fromkeys(path for _, path in sorted(found)))


def _outcome(text: str, gates: FeatureGates) -> dict[str, Any]:
    try:
        return {"config": to_external(load(text, gates=gates)), "stage": None, "error": None}
    except ConfigError as error:
        return {"config": None, "stage": error.stage, "error": error.message}


def _worded(error: str | None) -> str | None:
    return None if error is None else _SCHEME.sub("", error)
