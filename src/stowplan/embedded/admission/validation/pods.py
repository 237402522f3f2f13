"""Rules of the spec of a pod or of a template of pods, and of its containers.

Each of these has a file: `scheduling` is where a pod wants to run, `resources` what it asks for, `whole_pods` what it
asks for as a whole, `security_contexts` as whom it runs, `pod_volumes` what it mounts, `variables` what its programs
are told, `pod_names` by which names it is known, `pod_updates` what may change later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from typing import Final

import msgspec

from stowplan.embedded.admission.validation import (
    names,
    pod_names,
    pod_volumes,
    scheduling,
    security_contexts,
    variables,
    whole_pods,
)
from stowplan.embedded.admission.validation.field import Field, Problems, if_given, one_of
from stowplan.embedded.admission.validation.metadata import check_labels
from stowplan.embedded.admission.validation.resources import check_amounts, check_requirements
from stowplan.embedded.objects.errors import Cause
from stowplan.embedded.objects.releases import changed
from stowplan.model import json_values
from stowplan.model.remembering import remember

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_SYSTEMS: Final = ("linux", "windows")
_LONGEST_DEADLINE: Final = 2**31 - 1
_PROBE_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)

_ENCODER: Final = msgspec.json.Encoder()


def check_pod(pod: Field) -> None:
    """Check a pod, new or changed."""
    pod.problems.causes += _causes(_ENCODER.encode(pod.value["spec"]), pod.problems.gates, pod.problems.release)


def check_new_pod(pod: Field) -> None:
    """Check what is asked of new pods only."""
    spec = pod.value["spec"]
    if "ephemeralContainers" in spec:
        pod["spec"]["ephemeralContainers"].forbidden("cannot be set on create")
    if spec.get("schedulingGates") and spec.get("nodeName"):
        pod["spec"]["nodeName"].forbidden("cannot be set until all schedulingGates have been cleared")


@remember(2**20)
def _causes(spec: bytes, gates: frozenset[str], release: str) -> tuple[Cause, ...]:
    """What is wrong with the spec of a pod. Pods come by the thousand from one template, which is checked once."""
    problems = Problems(gates, release)
    check_spec(Field(problems, "spec", json_values.read(spec)))
    return tuple(problems.causes)


def check_spec(spec: Field) -> None:
    """Check the spec of a pod, or of a template."""
    volumes = pod_volumes.check_volumes(spec["volumes"])
    if _check_containers(spec, volumes):
        whole_pods.check_resources(spec)
    spec["restartPolicy"].check_is_one_of(RESTART_POLICIES)
    spec["dnsPolicy"].check_is_one_of(("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"))
    spec.check_present(_OF_SPECS)
    if "dnsConfig" in spec or spec.get("dnsPolicy") == "None":
        pod_names.check_dns(spec["dnsConfig"], is_all=spec.get("dnsPolicy") == "None")
    if "hostnameOverride" in spec:
        pod_names.check_host_name(spec)
    if spec.get("hostNetwork") and spec.get("hostUsers") is False:
        spec["hostNetwork"].forbidden("when `hostUsers` is false")
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        place = spec if changed("SharedProcessesAtTheirPlace", spec.problems.release) else spec["securityContext"]
        place["shareProcessNamespace"].invalid("ShareProcessNamespace and HostPID cannot both be enabled", True)


def _check_containers(spec: Field, volumes: Collection[str]) -> bool:
    """Check the containers of a spec; return whether it has any."""
    if not spec["containers"].check_needed():
        return False
    taken: set[str] = set()
    for name in ("containers", "initContainers"):
        for container in spec[name]:
            _check_container(container, taken)
            if "volumeMounts" in container.value:
                pod_volumes.check_mounts(container["volumeMounts"], volumes)
            if "volumeDevices" in container.value:
                pod_volumes.check_devices(container["volumeDevices"], volumes)
            if name == "initContainers" and container.get("restartPolicy") != "Always":
                _check_ends(container)
    if any(port.get("hostPort") for container in spec.value["containers"] for port in container.get("ports", ())):
        _check_host_ports(spec)
    return True


def _check_ends(container: Field) -> None:
    """Check that nobody waits for a container to become ready that others wait for to end."""
    for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            container[name].forbidden("may not be set for init containers without restartPolicy=Always")


def _check_host_ports(spec: Field) -> None:
    """Check that a pod does not ask twice for one port of its node."""
    taken: set[str] = set()
    for port in (port for container in spec["containers"] for port in container["ports"] if port.get("hostPort")):
        number = port.get("hostPort")
        wanted = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{number}"
        if wanted in taken:
            port["hostPort"].duplicate(shown=wanted)
        taken.add(wanted)
        if spec.get("hostNetwork") and number != port.get("containerPort"):
            port["hostPort"].invalid("must match `containerPort` when `hostNetwork` is true")


def _check_container(container: Field, taken: set[str]) -> None:
    name, image = container["name"], container["image"]
    if name.check_needed(names.label) and not names.label(name.value) and name.value in taken:
        name.duplicate()
    taken.add(name.value or "")
    if image.check_needed() and image.value != image.value.strip():
        image.invalid("must not have leading or trailing whitespace")
    container.check_present(_OF_CONTAINERS)


def _check_ports(ports: Field) -> None:
    taken: set[str] = set()
    for port in ports:
        if port.get("name"):
            port["name"].check(names.port_name)
            port["name"].check_unique(taken)
        port["containerPort"].check_needed(names.port_number)
        port["hostPort"].check_given(names.port_number)
        port["protocol"].check_one_of(PROTOCOLS)


def _check_probe(probe: Field) -> None:
    _check_handler(probe)
    probe.check_present(_OF_PROBES)
    seconds = probe["terminationGracePeriodSeconds"]
    if probe.name == "readinessProbe":
        if seconds.value is not None:
            seconds.invalid("must not be set for readinessProbes")
        return
    if seconds.value is not None:
        seconds.check_positive("must be greater than 0")
    if probe.get("successThreshold", 1) not in (0, 1):
        probe["successThreshold"].invalid("must be 1")


def _check_lifecycle(lifecycle: Field) -> None:
    for moment in ("postStart", "preStop"):
        if moment in lifecycle:
            _check_handler(lifecycle[moment])


def _check_handler(handled: Field) -> None:
    """Check what is done to see how a container is, or to tell it something: one thing, which makes sense."""
    handlers = [name for name in ("exec", "httpGet", "tcpSocket", "grpc", "sleep") if name in handled]
    if not handlers:
        handled.required("must specify a handler type")
    for extra in handlers[1:]:
        handled[extra].forbidden("may not specify more than 1 handler type")
    if "exec" in handled:
        handled["exec"]["command"].check_needed()
    for name in ("httpGet", "tcpSocket", "grpc"):
        if name in handled:
            handled[name]["port"].check(names.port, 0)
    if "httpGet" in handled:
        handled["httpGet"]["scheme"].check_one_of(("HTTP", "HTTPS"))


def _check_claims(claims: Field) -> None:
    taken: set[str] = set()
    for claim in claims:
        name, direct, template = (
            claim.get(field) for field in ("name", "resourceClaimName", "resourceClaimTemplateName")
        )
        if name in taken and name:
            claim["name"].duplicate()
        else:
            claim["name"].check_needed(names.label)
        taken.add(name)
        shown = {"Name": name or "", "ResourceClaimName": direct, "ResourceClaimTemplateName": template}
        if direct is None and template is None:
            claim.invalid("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`", shown)
        elif direct is not None and template is not None:
            claim.invalid("at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified", shown)


def _check_group(group: Field) -> None:
    name = group["podGroupName"]
    if name.value is None:
        name.invalid("must specify one of: `podGroupName`")
    else:
        name.check(names.subdomain)
    if group.parent is not None and group.parent["evictionResponders"]:
        group.forbidden("may not be set when evictionResponders is set")


def _check_system(system: Field) -> None:
    name = system["name"]
    if name.check_needed() and name.value not in _SYSTEMS:
        system.unsupported(_SYSTEMS, name.value)


def _deadline(seconds: int) -> Iterable[str]:
    return () if 1 <= seconds <= _LONGEST_DEADLINE else (f"must be between 1 and {_LONGEST_DEADLINE}, inclusive",)


_OF_PROBES: Final = tuple((name, Field.check_not_negative) for name in _PROBE_NUMBERS)
#: What a container may say besides its name, its image and its mounts.
_OF_CONTAINERS: Final = (
    ("ports", _check_ports),
    ("terminationMessagePolicy", one_of("File", "FallbackToLogsOnError")),
    ("imagePullPolicy", one_of("Always", "IfNotPresent", "Never")),
    ("restartPolicy", one_of("Always", "Never", "OnFailure")),
    ("env", variables.check_variables),
    ("envFrom", variables.check_sources),
    ("lifecycle", _check_lifecycle),
    ("securityContext", security_contexts.check_container_context),
    ("livenessProbe", _check_probe),
    ("readinessProbe", _check_probe),
    ("startupProbe", _check_probe),
    ("resources", check_requirements),
)
#: What a spec may say besides.
_OF_SPECS: Final = (
    ("nodeSelector", check_labels),
    ("affinity", scheduling.check_affinity),
    ("securityContext", security_contexts.check_pod_context),
    ("hostAliases", pod_names.check_aliases),
    ("readinessGates", pod_names.check_gates),
    ("tolerations", scheduling.check_tolerations),
    ("nodeName", if_given(names.subdomain)),
    ("serviceAccountName", if_given(names.subdomain)),
    ("priorityClassName", if_given(names.subdomain)),
    ("hostname", if_given(names.label)),
    ("subdomain", if_given(names.label)),
    ("activeDeadlineSeconds", partial(Field.check, rule=_deadline)),
    ("preemptionPolicy", one_of(*PREEMPTION_POLICIES)),
    ("topologySpreadConstraints", scheduling.check_spread_constraints),
    ("overhead", check_amounts),
    ("resourceClaims", _check_claims),
    ("schedulingGates", scheduling.check_gates),
    ("os", _check_system),
    ("schedulingGroup", _check_group),
)
