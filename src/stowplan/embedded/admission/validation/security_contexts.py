"""Rules of security contexts, of pods and of their containers: as whom they run, and confined by which profiles."""

from __future__ import annotations

import re
from typing import Any, Final

from stowplan.embedded.admission.validation.field import Field, one_of
from stowplan.embedded.objects.releases import changed

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
    context.check_present(_OF_ALL)
    context.check_present(_OF_PODS)


def check_container_context(context: Field) -> None:
    """Check what holds for one container."""
    context.check_present(_OF_ALL)
    if "procMount" in context:
        context["procMount"].check_one_of(("Default", "Unmasked"))
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            _refuse_less(context, "`privileged` to true")
        if "CAP_SYS_ADMIN" in (context.get("capabilities", {}).get("add") or ()):
            _refuse_less(context, "`capabilities.Add` CAP_SYS_ADMIN")


def _refuse_less(context: Field, right: str) -> None:
    """Refuse a context that wants no more rights, and has one that gives all of them."""
    shown = {go_name: context.get(name) for name, go_name in _FIELDS.items()}
    capabilities = context["capabilities"]
    if capabilities.value is not None:
        shown["Capabilities"] = {"Add": capabilities.get("add"), "Drop": capabilities.get("drop")}
    context.invalid(f"cannot set `allowPrivilegeEscalation` to false and {right}", shown)


def _check_settings(settings: Field) -> None:
    taken: set[str] = set()
    for setting in settings:
        name = setting["name"]
        if name.check_needed(_setting):
            name.check_unique(taken)


def _check_labelling(policy: Field) -> None:
    can_mount = changed("LabelsByMounting", policy.problems.release)
    policy.check_one_of(("MountOption", "Recursive") if can_mount else ("Recursive",))


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


#: What every context may say, and what only those of pods.
_OF_ALL: Final = (
    ("runAsUser", _check_id),
    ("runAsGroup", _check_id),
    ("seccompProfile", _check_seccomp),
    ("appArmorProfile", _check_app_armor),
)
_OF_PODS: Final = (
    ("fsGroup", _check_id),
    ("supplementalGroups", lambda groups: groups.each(_check_id)),
    ("fsGroupChangePolicy", one_of("Always", "OnRootMismatch")),
    ("seLinuxChangePolicy", _check_labelling),
    ("supplementalGroupsPolicy", one_of("Merge", "Strict")),
    ("sysctls", _check_settings),
)
