"""Checks the containers of a pod: names, images, ports, variables, mounts, probes, resources."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import NOT_NEGATIVE, Problems
from stowplan.embedded.admission.validation.resources import check_requirements
from stowplan.embedded.objects.resource import Object

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)


def check_containers(problems: Problems, spec: Object, path: str, volumes: Collection[str]) -> None:
    """Check all containers of a pod; `volumes` are the names of those it has."""
    containers = spec.get("containers")
    if not containers:
        problems.required(f"{path}.containers")
        return
    taken: set[str] = set()
    for index, container in enumerate(containers):
        _check_container(problems, container, f"{path}.containers[{index}]", taken)
        if "volumeMounts" in container:
            _check_mounts(problems, container, f"{path}.containers[{index}]", volumes)
    for index, container in enumerate(spec.get("initContainers", ())):
        _check_container(problems, container, f"{path}.initContainers[{index}]", taken)
        _check_mounts(problems, container, f"{path}.initContainers[{index}]", volumes)
    check_host_ports(problems, spec, path)


def check_host_ports(problems: Problems, spec: Object, path: str) -> None:
    """Check that a pod does not ask twice for one port of its node."""
    taken: set[str] = set()
    on_network_of_node = spec.get("hostNetwork", False)
    for index, container in enumerate(spec["containers"]):
        for number, port in enumerate(container.get("ports", ())):
            host_port = port.get("hostPort", 0)
            if not host_port:
                continue
            place = f"{path}.containers[{index}].ports[{number}].hostPort"
            wanted = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{host_port}"
            if wanted in taken:
                problems.duplicate(place, wanted)
            taken.add(wanted)
            if on_network_of_node and host_port != port.get("containerPort"):
                problems.invalid(place, host_port, "must match `containerPort` when `hostNetwork` is true")


def check_port(problems: Problems, port: Any, path: str) -> None:
    """Check a port that is a number or a name."""
    found = names.port_name(port) if isinstance(port, str) else names.port_number(port)
    problems.each(path, port, found)


def _check_container(problems: Problems, container: Object, path: str, taken: set[str]) -> None:
    name, image = container.get("name", ""), container.get("image", "")
    if not name:
        problems.required(f"{path}.name")
    elif found := names.label(name):
        problems.each(f"{path}.name", name, found)
    elif name in taken:
        problems.duplicate(f"{path}.name", name)
    taken.add(name)
    if not image:
        problems.required(f"{path}.image")
    elif image != image.strip():
        problems.invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
    if "ports" in container:
        _check_ports(problems, container["ports"], f"{path}.ports")
    _check_policies(problems, container, path)
    if "env" in container:
        _check_variables(problems, container["env"], f"{path}.env")
    _check_probes(problems, container, path)
    if resources := container.get("resources"):
        check_requirements(problems, resources, f"{path}.resources")


def _check_policies(problems: Problems, container: Object, path: str) -> None:
    policy = container.get("terminationMessagePolicy", "File")
    if policy not in _MESSAGE_POLICIES:
        problems.unsupported(f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    policy = container.get("imagePullPolicy", "Always")
    if policy not in _PULL_POLICIES:
        problems.unsupported(f"{path}.imagePullPolicy", policy, _PULL_POLICIES)
    if "restartPolicy" in container:
        problems.check_one_of(f"{path}.restartPolicy", container["restartPolicy"], _RESTART_POLICIES)


def _check_ports(problems: Problems, ports: list[Object], path: str) -> None:
    taken: set[str] = set()
    for index, port in enumerate(ports):
        place = f"{path}[{index}]"
        name, number, host_port = port.get("name", ""), port.get("containerPort", 0), port.get("hostPort", 0)
        if name:
            problems.each(f"{place}.name", name, names.port_name(name))
            if name in taken:
                problems.duplicate(f"{place}.name", name)
            taken.add(name)
        if not number:
            problems.required(f"{place}.containerPort")
        else:
            problems.each(f"{place}.containerPort", number, names.port_number(number))
        if host_port:
            problems.each(f"{place}.hostPort", host_port, names.port_number(host_port))
        problems.check_one_of(f"{place}.protocol", port.get("protocol"), PROTOCOLS)


def _check_variables(problems: Problems, variables: list[Object], path: str) -> None:
    for index, variable in enumerate(variables):
        name = variable.get("name", "")
        if not name:
            problems.required(f"{path}[{index}].name")
        else:
            problems.each(f"{path}[{index}].name", name, names.environment(name))
        if variable.get("value") and variable.get("valueFrom"):
            problems.invalid(f"{path}[{index}].valueFrom", "", "may not be specified when `value` is not empty")


def _check_mounts(problems: Problems, container: Object, path: str, volumes: Collection[str]) -> None:
    taken: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts", ())):
        place, name, mount_path = f"{path}.volumeMounts[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            problems.required(f"{place}.name")
        if name not in volumes:
            problems.not_found(f"{place}.name", name)
        if not mount_path:
            problems.required(f"{place}.mountPath")
        elif mount_path in taken:
            problems.invalid(f"{place}.mountPath", mount_path, "must be unique")
        taken.add(mount_path)


def _check_probes(problems: Problems, container: Object, path: str) -> None:
    for name in _PROBES:
        if name in container:
            _check_probe(problems, container[name], f"{path}.{name}")


def _check_probe(problems: Problems, probe: Object, path: str) -> None:
    handlers = [name for name in _HANDLERS if name in probe]
    if not handlers:
        problems.required(path, "must specify a handler type")
    for extra in handlers[1:]:
        problems.forbidden(f"{path}.{extra}", "may not specify more than 1 handler type")
    for name in ("httpGet", "tcpSocket", "grpc"):
        if name in probe:
            check_port(problems, probe[name].get("port", 0), f"{path}.{name}.port")
    for name in _PROBE_NUMBERS:
        if (number := probe.get(name)) is not None and number < 0:
            problems.invalid(f"{path}.{name}", number, NOT_NEGATIVE)
