"""Which checks make up a standard, in upstream's order, which is that of their messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from stowplan.embedded.admission.pod_security import baseline, restricted
from stowplan.embedded.admission.pod_security.levels import BASELINE, RESTRICTED
from stowplan.embedded.admission.pod_security.violation import Violation
from stowplan.embedded.objects.resource import Object

Check = Callable[[Object], Violation | None]

_STANDARDS: Final[Mapping[str, tuple[Check, ...]]] = {
    BASELINE: (
        baseline.app_armor,
        baseline.capabilities,
        baseline.host_namespaces,
        baseline.host_paths,
        baseline.host_ports,
        baseline.probe_hosts,
        baseline.privileged,
        baseline.proc_mount,
        baseline.selinux,
        baseline.seccomp,
        baseline.sysctls,
        baseline.windows_host_process,
    ),
    # What it is stricter about comes once, in its own words.
    RESTRICTED: (
        baseline.app_armor,
        baseline.host_namespaces,
        baseline.host_ports,
        baseline.probe_hosts,
        baseline.privileged,
        baseline.selinux,
        baseline.sysctls,
        baseline.windows_host_process,
        restricted.privilege_escalation,
        restricted.capabilities,
        baseline.masked_proc_mount,
        restricted.volumes,
        restricted.run_as_non_root,
        restricted.run_as_user,
        restricted.seccomp,
    ),
}


def violations(pod: Object, level: str) -> list[Violation]:
    """What of a standard a pod, or the template of one, breaks."""
    whole = {"metadata": pod.get("metadata") or {}, "spec": pod.get("spec") or {}}
    return [found for check in _STANDARDS[level] if (found := check(whole)) is not None]
