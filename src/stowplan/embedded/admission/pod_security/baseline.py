"""The baseline standard: what keeps a pod from taking over its node. Each check finds one thing that a pod breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

_APPARMOR_PREFIX: Final = "container.apparmor.security.beta.kubernetes.io/"
_PROFILES: Final = ("RuntimeDefault", "Localhost")
_CAPABILITIES: Final = frozenset(
    (
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)
_SELINUX_TYPES: Final = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_SYSCTLS: Final = frozenset(
    (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    )
)
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS: Final = ("postStart", "preStop")


def app_armor(pod: Object) -> Violation | None:
    """Profiles may be the default one or one of the node's, not none."""
    annotations = pod["metadata"].get("annotations") or {}
    noted = sorted(
        f'{key}="{value}"'
        for key, value in annotations.items()
        if key.startswith(_APPARMOR_PREFIX) and not _is_good_note(value)
    )
    by_fields, types = _bad_profiles(pod, "appArmorProfile")
    values = [*types, *noted]
    if not values:
        return None
    by_notes = [] if not noted else ["annotation" if len(noted) == 1 else "annotations"]
    who = " and ".join([*([by_fields] if by_fields else []), *by_notes])
    return Violation(
        plural("forbidden AppArmor profile", values), f"{who} must not set AppArmor profile type to {quoted(values)}"
    )


def capabilities(pod: Object) -> Violation | None:
    """Nothing may be added but what a container has by default anyway."""
    added = {part["name"]: inner(part, "capabilities", "add") or () for part in containers(pod["spec"])}
    bad = [name for name, found in added.items() if not _CAPABILITIES.issuperset(found)]
    if not bad:
        return None
    beyond = sorted({each for found in added.values() for each in found} - _CAPABILITIES)
    detail = f"{counted('container', bad)} must not include {quoted(beyond)} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def host_namespaces(pod: Object) -> Violation | None:
    shared = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if pod["spec"].get(field)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def host_paths(pod: Object) -> Violation | None:
    found = [volume["name"] for volume in pod["spec"].get("volumes") or () if volume.get("hostPath") is not None]
    return Violation("hostPath volumes", counted("volume", found)) if found else None


def host_ports(pod: Object) -> Violation | None:
    ports = {
        part["name"]: [str(port["hostPort"]) for port in part.get("ports") or () if port.get("hostPort")]
        for part in containers(pod["spec"])
    }
    bad = [name for name, found in ports.items() if found]
    if not bad:
        return None
    taken = sorted({port for found in ports.values() for port in found})
    detail = f"{counted('container', bad)} {uses(bad)} {plural('hostPort', taken)} {', '.join(taken)}"
    return Violation("hostPort", detail)


def probe_hosts(pod: Object) -> Violation | None:
    """Probes and hooks may only ask the pod itself."""
    asked = {part["name"]: _hosts(part) for part in containers(pod["spec"])}
    bad = sorted(name for name, hosts in asked.items() if hosts)
    if not bad:
        return None
    hosts = sorted(set().union(*asked.values()))
    what = f"{plural('probe or lifecycle host', hosts)} {quoted(hosts)}"
    return Violation("probe or lifecycle host", f"{counted('container', bad)} {uses(bad)} {what}")


def privileged(pod: Object) -> Violation | None:
    bad = names(part for part in containers(pod["spec"]) if inner(part, "privileged"))
    detail = f"{counted('container', bad)} must not set securityContext.privileged=true"
    return Violation("privileged", detail) if bad else None


def proc_mount(pod: Object) -> Violation | None:
    """`/proc` stays masked, unless the pod has users of its own."""
    return None if pod["spec"].get("hostUsers") is False else masked_proc_mount(pod)


def masked_proc_mount(pod: Object) -> Violation | None:
    parts = [part for part in containers(pod["spec"]) if inner(part, "procMount") not in (None, "Default")]
    if not parts:
        return None
    kinds = sorted({inner(part, "procMount") for part in parts})
    detail = f"{counted('container', names(parts))} must not set securityContext.procMount to {quoted(kinds)}"
    return Violation("procMount", detail)


def selinux(pod: Object) -> Violation | None:
    """Only the types of containers, and neither user nor role."""
    said = [inner(part, "seLinuxOptions") or {} for part in (pod["spec"], *containers(pod["spec"]))]
    bad = [options for options in said if _is_bad_selinux(options)]
    if not bad:
        return None
    types = sorted({options.get("type") or "" for options in bad} - {*_SELINUX_TYPES})
    problems = [counted("type", types)] if types else []
    problems += [f"{field} may not be set" for field in ("user", "role") if any(each.get(field) for each in bad)]
    who = blamed(pod, lambda part: _is_bad_selinux(inner(part, "seLinuxOptions") or {}))
    return Violation("seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(problems)}")


def seccomp(pod: Object) -> Violation | None:
    """Profiles may be the default one or one of the node's, not none."""
    who, types = _bad_profiles(pod, "seccompProfile")
    detail = f"{who} must not set securityContext.seccompProfile.type to {quoted(types)}"
    return Violation("seccompProfile", detail) if who else None


def sysctls(pod: Object) -> Violation | None:
    asked = [each.get("name", "") for each in inner(pod["spec"], "sysctls") or ()]
    bad = [name for name in asked if name not in _SYSCTLS]
    return Violation("forbidden sysctls", ", ".join(bad)) if bad else None


def windows_host_process(pod: Object) -> Violation | None:
    who = blamed(pod, lambda part: inner(part, "windowsOptions", "hostProcess"))
    detail = f"{who} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail) if who else None


def _bad_profiles(pod: Object, field: str) -> tuple[str, list[str]]:
    """Who names a profile of a type that is not allowed, and the types."""

    def bad_type(part: Object) -> str | None:
        profile = inner(part, field)
        kind = None if profile is None else str(profile.get("type") or "")
        return None if kind in _PROFILES else kind

    found = {bad_type(part) for part in (pod["spec"], *containers(pod["spec"]))}
    return blamed(pod, lambda part: bad_type(part) is not None), sorted(each for each in found if each is not None)


def _is_good_note(value: str) -> bool:
    return not value or value == "runtime/default" or value.startswith("localhost/")


def _is_bad_selinux(options: Object) -> bool:
    return bool((options.get("type") or "") not in _SELINUX_TYPES or options.get("user") or options.get("role"))


def _hosts(container: Object) -> set[str]:
    lifecycle = container.get("lifecycle") or {}
    handlers = [*(container.get(probe) for probe in _PROBES), *(lifecycle.get(hook) for hook in _HOOKS)]
    ways = [(handler or {}).get(way) or {} for handler in handlers for way in ("httpGet", "tcpSocket")]
    return {way["host"] for way in ways if way.get("host")}


class Violation(NamedTuple):
    """One rule that a pod breaks, and how."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


def containers(spec: Object) -> Iterator[Object]:
    """All containers of a pod, in the order in which they are spoken of."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def inner(part: Object, *path: str) -> Any:
    """What the security context of a pod or a container says at a path; None if it says nothing."""
    return reading.at(part, "securityContext", *path)


def names(found: Iterable[Object]) -> list[str]:
    return [container.get("name", "") for container in found]


def quoted(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def counted(word: str, found: list[str]) -> str:
    """One or several, such as `containers "a", "b"`."""
    return f"{plural(word, found)} {quoted(found)}"


def plural(word: str, found: list[str]) -> str:
    return word if len(found) == 1 else f"{word}s"


def uses(found: list[str]) -> str:
    return "uses" if len(found) == 1 else "use"


def blamed(pod: Object, is_bad: Callable[[Object], Any]) -> str:
    """Who says something wrong: the pod, containers, or both."""
    found = names(part for part in containers(pod["spec"]) if is_bad(part))
    is_pod = is_bad(pod["spec"])
    return " and ".join([*(["pod"] if is_pod else []), *([counted("container", found)] if found else [])])


#: In upstream's order.
CHECKS: Final = (
    app_armor,
    capabilities,
    host_namespaces,
    host_paths,
    host_ports,
    probe_hosts,
    privileged,
    proc_mount,
    selinux,
    seccomp,
    sysctls,
    windows_host_process,
)
