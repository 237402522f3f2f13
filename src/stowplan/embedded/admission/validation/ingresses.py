"""Checks ingresses and their classes."""

from __future__ import annotations

import re
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.addresses import read_address
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.objects.resource import Object

_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_NOT_WITHIN: Final = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_THE_END: Final = ("/..", "/.")
_SCOPES: Final = ("Cluster", "Namespace")
_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_LONGEST_CONTROLLER: Final = 250
_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def check_ingress(problems: Problems, ingress: Object) -> None:
    """Check an ingress."""
    spec = ingress.get("spec") or {}
    rules, backend = spec.get("rules"), spec.get("defaultBackend")
    if not rules and backend is None:
        problems.invalid("spec", rules, "either `defaultBackend` or `rules` must be specified")
    if backend is not None:
        _check_backend(problems, backend, "spec.defaultBackend")
    for index, rule in enumerate(rules or ()):
        _check_rule(problems, rule, f"spec.rules[{index}]")
    for index, tls in enumerate(spec.get("tls", ())):
        for number, host in enumerate(tls.get("hosts", ())):
            problems.each(f"spec.tls[{index}].hosts[{number}]", host, names.host(host))
        if secret := tls.get("secretName"):
            problems.each(f"spec.tls[{index}].secretName", secret, names.subdomain(secret))
    if (name := spec.get("ingressClassName")) is not None:
        problems.each("spec.ingressClassName", name, names.subdomain(name))


def check_new_ingress(problems: Problems, ingress: Object) -> None:
    """Check what only a new ingress has to heed: its class is said in one place, or the same in both."""
    told = (ingress["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    name = (ingress.get("spec") or {}).get("ingressClassName")
    if told is not None and name is not None and told != name:
        path = f"annotations.{_CLASS_ANNOTATION}"
        problems.invalid(path, told, "must match `ingressClassName` when both are specified")


def check_class(problems: Problems, ingress_class: Object) -> None:
    """Check an ingress class."""
    spec = ingress_class.get("spec") or {}
    controller = spec.get("controller", "")
    if len(controller) > _LONGEST_CONTROLLER:
        problems.too_long("spec.controller", _LONGEST_CONTROLLER)
    _check_domain_path(problems, controller, "spec.controller")
    if "parameters" in spec:
        _check_parameters(problems, spec["parameters"], "spec.parameters")


def check_class_update(problems: Problems, ingress_class: Object, before: Object) -> None:
    controllers = [(each.get("spec") or {}).get("controller") for each in (ingress_class, before)]
    problems.check_unchanged("spec.controller", *controllers)


def _check_rule(problems: Problems, rule: Object, path: str) -> None:
    if host := rule.get("host"):
        if read_address(host) is not None:
            problems.invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        problems.each(f"{path}.host", host, names.host(host))
    if "http" not in rule:
        return
    paths = rule["http"].get("paths")
    if not paths:
        problems.required(f"{path}.http.paths")
    for index, each in enumerate(paths or ()):
        _check_path(problems, each, f"{path}.http.paths[{index}]")


def _check_path(problems: Problems, rule: Object, path: str) -> None:
    kind, text = rule.get("pathType"), rule.get("path", "")
    if kind is None:
        problems.required(f"{path}.pathType", "pathType must be specified")
        return
    problems.check_one_of(f"{path}.pathType", kind, _PATH_TYPES)
    if kind in ("Exact", "Prefix"):
        _check_exact_path(problems, text, f"{path}.path")
    elif kind == "ImplementationSpecific" and text and not text.startswith("/"):
        problems.invalid(f"{path}.path", text, "must be an absolute path")
    _check_backend(problems, rule.get("backend") or {}, f"{path}.backend")


def _check_exact_path(problems: Problems, text: str, path: str) -> None:
    if not text.startswith("/"):
        problems.invalid(path, text, "must be an absolute path")
    problems.each(path, text, (f"must not contain '{each}'" for each in _NOT_WITHIN if each in text))
    problems.each(path, text, (f"cannot end with '{each}'" for each in _NOT_AT_THE_END if text.endswith(each)))


def _check_backend(problems: Problems, backend: Object, path: str) -> None:
    if "resource" in backend and "service" in backend:
        problems.invalid(path, "", "cannot set both resource and service backends")
    elif "resource" in backend:
        check_reference(problems, backend["resource"], f"{path}.resource")
    elif "service" in backend:
        service = backend["service"]
        problems.check_name(f"{path}.service.name", service.get("name", ""), names.label)
        _check_backend_port(problems, service.get("port") or {}, path)
    else:
        problems.invalid(path, "", "resource or service backend is required")


def _check_backend_port(problems: Problems, port: Object, path: str) -> None:
    name, number = port.get("name"), port.get("number")
    if name and number:
        problems.invalid(path, "", "cannot set both port name & port number")
    elif name:
        problems.each(f"{path}.service.port.name", name, names.port_name(name))
    elif number:
        problems.each(f"{path}.service.port.number", number, names.port_number(number))
    else:
        problems.required(path, "port name or number is required")


def check_reference(problems: Problems, reference: Object, path: str) -> None:
    """Check what names an object by group, kind and name."""
    if (group := reference.get("apiGroup")) is not None:
        problems.each(f"{path}.apiGroup", group, names.subdomain(group))
    for field in ("kind", "name"):
        problems.check_name(f"{path}.{field}", reference.get(field, ""), names.path_segment)


def _check_parameters(problems: Problems, parameters: Object, path: str) -> None:
    check_reference(problems, parameters, path)
    scope, namespace = parameters["scope"], parameters.get("namespace")
    problems.check_one_of(f"{path}.scope", scope, _SCOPES)
    if scope == "Namespace":
        if namespace is None:
            problems.required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
        else:
            problems.each(f"{path}.namespace", namespace, names.label(namespace))
    elif scope == "Cluster" and namespace is not None:
        problems.forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")


def _check_domain_path(problems: Problems, text: str, path: str) -> None:
    domain, _, rest = text.partition("/")
    if not text:
        problems.required(path)
    elif not domain or not rest:
        problems.invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        problems.each(path, domain, names.subdomain(domain))
        if not re.fullmatch(_HTTP_PATH, rest):
            problems.invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')")
