"""Rules of security contexts, of pods and of their containers: as whom they run, and confined by which profiles."""

from __future__ import annotations

import re
from typing import Any, Final

from stowplan.embedded.admission.validation.field import Field

_MOST_ID: Final = 2**31 - 1
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PROFILE_BYTES: Final = 4095
_LONGEST_SETTING: Final = 253
_SETTING: Final = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_IS_SETTING: Final = re.compile(_SETTING)
#: The fields of a container's context, and as Go has them.
_FIELDS: Final = {
    "capabilities": "Capabilities",
    "privileged": "Privileged",
    "seLinuxOptions": "SELinuxOptions",
    "windowsOptions": "WindowsOptions",
    "runAsUser": "RunAsUser",
    "runAsGroup": "RunAsGroup",
    "runAsNonRoot": "RunAsNonRoot",
    "readOnlyRootFilesystem": "ReadOnlyRootFilesystem",
    "allowPrivilegeEscalation": "AllowPrivilegeEscalation",
    "procMount": "ProcMount",
    "seccompProfile": "SeccompProfile",
    "appArmorProfile": "AppArmorProfile",
}


def check_pod_context(context: Field) -> None:
    """Check what holds for all containers of a pod."""
    _check_context(context)
    if "fsGroup" in context:
        _check_id(context["fsGroup"])
    context["supplementalGroups"].each(_check_id)
    context["fsGroupChangePolicy"].check_one_of(("Always", "OnRootMismatch"))
    context["seLinuxChangePolicy"].check_one_of(("MountOption", "Recursive"))
    context["supplementalGroupsPolicy"].check_one_of(("Merge", "Strict"))
    taken: set[str] = set()
    for setting in context["sysctls"]:
        name = setting["name"]
        if name.check_needed(_setting):
            name.check_unique(taken)


def check_container_context(context: Field) -> None:
    """Check what holds for one container."""
    _check_context(context)
    context["procMount"].check_one_of(("Default", "Unmasked"))
    if context.get("allowPrivilegeEscalation") is False:
        shown = {go_name: context.get(name) for name, go_name in _FIELDS.items()}
        added = context["capabilities"]
        if added.value is not None:
            shown["Capabilities"] = {"Add": added.get("add"), "Drop": added.get("drop")}
        if context.get("privileged"):
            context.invalid("cannot set `allowPrivilegeEscalation` to false and `privileged` to true", shown)
        if "CAP_SYS_ADMIN" in (added.get("add") or ()):
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            context.invalid(detail, shown)


def _check_context(context: Field) -> None:
    for name in ("runAsUser", "runAsGroup"):
        if name in context:
            _check_id(context[name])
    context.check_present((("seccompProfile", _check_seccomp), ("appArmorProfile", _check_app_armor)))


def _check_id(number: Field) -> None:
    number.check_between(0, _MOST_ID, f"must be between 0 and {_MOST_ID}, inclusive")


def _check_seccomp(profile: Field) -> None:
    kind, local = _check_kind(profile, "seccompProfile"), profile["localhostProfile"]
    if kind != "Localhost":
        if local.value is not None:
            shown = {"Type": kind, "LocalhostProfile": local.value}
            local.invalid("can only be set when seccomp type is Localhost", shown)
    elif local.value is None:
        local.required("must be set when seccomp type is Localhost")
    elif local.value.startswith("/"):
        local.invalid("must be a relative path")
    elif ".." in local.value.split("/"):
        local.invalid("must not contain '..'")


def _check_app_armor(profile: Field) -> None:
    kind, local = _check_kind(profile, "appArmorProfile"), profile["localhostProfile"]
    name: Any = local.value
    if kind == "Localhost":
        if not (name or "").strip():
            local.required("must be set when AppArmor type is Localhost")
        elif name != name.strip():
            local.invalid("must not be padded with whitespace")
        elif len(name.encode()) > _LONGEST_PROFILE_BYTES:
            local.too_long(_LONGEST_PROFILE_BYTES)
    elif kind in _PROFILES and name is not None:
        local.invalid("can only be set when AppArmor type is Localhost")


def _check_kind(profile: Field, field: str) -> str:
    kind = profile["type"]
    if kind.check_needed(detail=f"type is required when {field} is set"):
        kind.check_one_of(_PROFILES)
    return kind.value or ""


def _setting(name: str) -> tuple[str, ...]:
    if len(name) <= _LONGEST_SETTING and _IS_SETTING.fullmatch(name):
        return ()
    return (f"must have at most {_LONGEST_SETTING} characters and match regex ^{_SETTING}$",)
