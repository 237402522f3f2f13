"""Checks what holds data: config maps, secrets, claims for volumes."""

from __future__ import annotations

import base64
from typing import Final

import msgspec

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.selectors import check_label_selector
from stowplan.embedded.objects.resource import Object
from stowplan.model import json_values
from stowplan.model.quantity import Quantity

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_MOST_BYTES: Final = 1024 * 1024
#: What secrets of a type cannot do without.
_NEEDED: Final = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
#: Secrets that hold JSON under the one key that they need.
_WITH_JSON: Final = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")
_ACCOUNT_ANNOTATION: Final = "kubernetes.io/service-account.name"


def check_config_map(problems: Problems, config_map: Object) -> None:
    """Check a config map: proper keys, each in one place, not too much."""
    data, binary = config_map.get("data", {}), config_map.get("binaryData", {})
    for key in data:
        problems.each(f"data[{key}]", key, names.config_key(key))
    for key in binary:
        problems.each(f"binaryData[{key}]", key, names.config_key(key))
        if key in data:
            problems.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    if _size(data) + _size(binary) * 3 // 4 > _MOST_BYTES:
        problems.too_long("", _MOST_BYTES)


def check_secret(problems: Problems, secret: Object) -> None:
    """Check a secret: proper keys, those that its type needs, not too much."""
    data = secret.get("data", {})
    for key in data:
        problems.each(f"data[{key}]", key, names.config_key(key))
    if _size(data) * 3 // 4 > _MOST_BYTES:
        problems.too_long("data", _MOST_BYTES)
    for key in _NEEDED.get(secret["type"], ()):
        if key not in data:
            problems.required(f"data[{key}]")
        elif secret["type"] in _WITH_JSON and (found := _json_problem(data[key])):
            problems.invalid(f"data[{key}]", "<secret contents redacted>", found)
    if secret["type"] == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        problems.required("data[username]")
        problems.required("data[password]")
    account = (secret["metadata"].get("annotations") or {}).get(_ACCOUNT_ANNOTATION)
    if secret["type"] == "kubernetes.io/service-account-token" and not account:
        problems.required(f"metadata.annotations[{_ACCOUNT_ANNOTATION}]")


def check_claim(problems: Problems, claim: Object) -> None:
    """Check a claim for a volume."""
    spec = claim["spec"]
    modes = spec.get("accessModes")
    if not modes:
        problems.required("spec.accessModes", "at least 1 access mode is required")
    for mode in modes or ():
        problems.check_one_of("spec.accessModes", mode, _ACCESS_MODES)
    check_label_selector(problems, spec.get("selector"), "spec.selector")
    size = spec["resources"].get("requests", {}).get("storage")
    if size is None:
        problems.required("spec.resources[storage]")
    elif Quantity.parse(size).sign <= 0:
        problems.invalid("spec.resources[storage]", size, "must be greater than zero")


def _json_problem(encoded: str) -> str:
    """Why something is no JSON, nothing if it is."""
    content = base64.b64decode(encoded).strip()
    try:
        json_values.read(content)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if not content:
            return "unexpected end of JSON input"
        first = content[:1].decode(errors="replace")
        if first in '{["-0123456789tfn':
            return str(error)
        return f"invalid character '{first}' looking for beginning of value"
    return ""


def _size(data: dict[str, str]) -> int:
    return sum(len(value.encode(errors="surrogatepass")) for value in data.values())
