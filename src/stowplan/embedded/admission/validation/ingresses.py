"""Rules of what comes in and goes out: ingresses, their classes, network policies."""

from __future__ import annotations

import re
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import Field
from stowplan.embedded.admission.validation.metadata import check_label_selector
from stowplan.embedded.objects.releases import changed

_NOT_WITHIN: Final = ("//", "/./", "/../", "%2f", "%2F")
_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_LONGEST_CONTROLLER: Final = 250
_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_NOT_ABSOLUTE: Final = "must be an absolute path"
_POLICY_TYPES: Final = ("Ingress", "Egress")
_PEERS: Final = {"ingress": "from", "egress": "to"}


def check_ingress(ingress: Field) -> None:
    """Check an ingress."""
    spec = ingress["spec"]
    rules, backend = spec["rules"], spec["defaultBackend"]
    if backend.value is not None:
        _check_backend(backend)
    elif not rules:
        spec.invalid("either `defaultBackend` or `rules` must be specified", rules.value)
    rules.each(_check_rule)
    for tls in spec["tls"]:
        tls["hosts"].check_each(names.host)
        tls["secretName"].check_given(names.subdomain)
    spec["ingressClassName"].check_set(names.subdomain)


def check_new_ingress(ingress: Field) -> None:
    """Check what only a new ingress has to heed: its class is said in one place, or the same in both."""
    told = ingress["metadata"]["annotations"].get(_CLASS_ANNOTATION)
    name = ingress["spec"].get("ingressClassName")
    if told is not None and name is not None and told != name:
        annotation = Field(ingress.problems, f"annotations.{_CLASS_ANNOTATION}", told)
        annotation.invalid("must match `ingressClassName` when both are specified")


def check_class(ingress_class: Field) -> None:
    """Check an ingress class."""
    spec = ingress_class["spec"]
    controller = spec["controller"]
    if len(controller.value or "") > _LONGEST_CONTROLLER:
        controller.too_long(_LONGEST_CONTROLLER)
    _check_domain_path(controller)
    if "parameters" in spec:
        _check_parameters(spec["parameters"])


def _check_rule(rule: Field) -> None:
    if host := rule.get("host"):
        if names.read_address(host) is not None:
            rule["host"].invalid("must be a DNS name, not an IP address")
        rule["host"].check(names.host)
    if "http" not in rule:
        return
    rule["http"]["paths"].check_needed()
    rule["http"]["paths"].each(_check_path)


def _check_path(rule: Field) -> None:
    kind, path = rule["pathType"], rule["path"]
    if kind.value is None:
        kind.required("pathType must be specified")
        return
    kind.check_one_of(("Exact", "ImplementationSpecific", "Prefix"))
    if kind.value in ("Exact", "Prefix"):
        path.check(_exact_path)
    elif kind.value == "ImplementationSpecific" and path and not path.value.startswith("/"):
        path.invalid(_NOT_ABSOLUTE)
    _check_backend(rule["backend"])


def _exact_path(text: str) -> list[str]:
    return [
        *(() if text.startswith("/") else (_NOT_ABSOLUTE,)),
        *(f"must not contain '{each}'" for each in _NOT_WITHIN if each in text),
        *(f"cannot end with '{each}'" for each in ("/..", "/.") if text.endswith(each)),
    ]


def _check_backend(backend: Field) -> None:
    if "resource" in backend and "service" in backend:
        backend.invalid("cannot set both resource and service backends", "")
    elif "resource" in backend:
        _check_reference(backend["resource"])
    elif "service" in backend:
        backend["service"]["name"].check_needed(names.label)
        _check_backend_port(backend)
    else:
        backend.invalid("resource or service backend is required", "")


def _check_backend_port(backend: Field) -> None:
    name, number = backend["service"]["port"]["name"], backend["service"]["port"]["number"]
    if name and number:
        backend.invalid("cannot set both port name & port number", "")
    elif name:
        name.check(names.port_name)
    elif number:
        number.check(names.port_number)
    else:
        backend.required("port name or number is required")


def _check_reference(reference: Field) -> None:
    """Check what names an object by group, kind and name."""
    reference["apiGroup"].check_set(names.subdomain)
    reference["kind"].check_needed(names.path_segment)
    reference["name"].check_needed(names.path_segment)


def _check_parameters(parameters: Field) -> None:
    _check_reference(parameters)
    scope, namespace = parameters["scope"], parameters["namespace"]
    scope.check_one_of(("Cluster", "Namespace"))
    if scope.value == "Namespace":
        if namespace.value is None:
            namespace.required("`parameters.scope` is set to 'Namespace'")
        namespace.check_set(names.label)
    elif scope.value == "Cluster" and namespace.value is not None:
        namespace.forbidden("`parameters.scope` is set to 'Cluster'")


def _check_domain_path(text: Field) -> None:
    if not text.check_needed():
        return
    domain, _, rest = text.value.partition("/")
    if not domain or not rest:
        text.invalid('must be a domain-prefixed path (such as "acme.io/foo")')
        return
    text.check_other(domain, names.subdomain)
    if not re.fullmatch(_HTTP_PATH, rest):
        text.invalid(f"Invalid path (regex used for validation is '{_HTTP_PATH}')", rest)


def check_network_policy(policy: Field) -> None:
    """Check a network policy."""
    spec = policy["spec"]
    check_label_selector(spec["podSelector"])
    for direction, peers in _PEERS.items():
        for rule in spec[direction]:
            rule["ports"].each(_check_policy_port)
            for peer in rule[peers]:
                _check_peer(peer)
    types = spec["policyTypes"]
    if len(types.value) > len(_POLICY_TYPES):
        types.invalid("may not specify more than two policyTypes")
        return
    for each in types:
        each.check_one_of(_POLICY_TYPES)


def _check_policy_port(port: Field) -> None:
    port["protocol"].check_one_of(("TCP", "UDP", "SCTP"))
    number, last = port.get("port"), port["endPort"]
    if last.value is not None and not isinstance(number, int):
        word = "not specified" if number is None else "non-numeric"
        last.invalid(f"may not be specified when `port` is {word}")
    port["port"].check_set(names.port)
    if last.value is not None and isinstance(number, int):
        if last.value < number:
            # Upstream came to show the last port; it was the first.
            is_last_shown = changed("LastPortIsShown", port.problems.release)
            last.invalid("must be greater than or equal to `port`", last.value if is_last_shown else number)
        last.check(names.port_number)


def _check_peer(peer: Field) -> None:
    for field in ("podSelector", "namespaceSelector"):
        check_label_selector(peer[field])
    block = peer["ipBlock"]
    if block.value is not None and block["cidr"].check_needed(names.address_range):
        _check_exceptions(block["except"], names.read_range(block.get("cidr")))
    if not peer:
        peer.required("must specify a peer")
    elif block.value is not None and len(peer.value) > 1:
        peer.forbidden("may not specify both ipBlock and another peer")


def _check_exceptions(exceptions: Field, whole: names.Network | None) -> None:
    if whole is None:
        return
    for each in exceptions:
        each.check(names.address_range)
        part = names.read_range(each.value)
        if part is not None and not _is_strictly_within(part, whole):
            each.invalid("must be a strict subset of `cidr`")


def _is_strictly_within(part: names.Network, whole: names.Network) -> bool:
    return part.version == whole.version and part.network_address in whole and part.prefixlen > whole.prefixlen
