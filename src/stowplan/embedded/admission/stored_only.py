"""Kinds that are kept and checked, but that nothing in this cluster acts upon: whoever writes one is told so."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from stowplan.embedded.objects.resource import Resource


def warnings(resource: Resource) -> tuple[str, ...]:
    """What whoever writes an object of this resource has to know."""
    words = _BY_RESOURCE.get(resource.qualified)
    return (f"stored only: {words}",) if words is not None and not resource.is_custom else ()


_NO_NETWORK: Final = "there is no network in this cluster"
_NO_POLICIES: Final = "no admission policy is evaluated in this cluster"
_NO_QUEUES: Final = "requests are not queued by priority in this cluster"
_NO_WEBHOOKS: Final = "no admission webhook is called in this cluster"
_OWN_ADDRESSES: Final = "this cluster gives services their addresses without asking"

_BY_RESOURCE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "apiservices.apiregistration.k8s.io": "requests are not passed on to other API servers in this cluster",
        "certificatesigningrequests.certificates.k8s.io": "no certificate is signed in this cluster",
        "endpoints": _NO_NETWORK,
        "endpointslices.discovery.k8s.io": _NO_NETWORK,
        "flowschemas.flowcontrol.apiserver.k8s.io": _NO_QUEUES,
        "horizontalpodautoscalers.autoscaling": "nobody measures or scales in this cluster",
        "ingressclasses.networking.k8s.io": _NO_NETWORK,
        "ingresses.networking.k8s.io": _NO_NETWORK,
        "ipaddresses.networking.k8s.io": _OWN_ADDRESSES,
        "mutatingadmissionpolicies.admissionregistration.k8s.io": _NO_POLICIES,
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _NO_POLICIES,
        "mutatingwebhookconfigurations.admissionregistration.k8s.io": _NO_WEBHOOKS,
        "networkpolicies.networking.k8s.io": _NO_NETWORK,
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": _NO_QUEUES,
        "servicecidrs.networking.k8s.io": _OWN_ADDRESSES,
        "validatingadmissionpolicies.admissionregistration.k8s.io": _NO_POLICIES,
        "validatingadmissionpolicybindings.admissionregistration.k8s.io": _NO_POLICIES,
        "validatingwebhookconfigurations.admissionregistration.k8s.io": _NO_WEBHOOKS,
        "volumeattachments.storage.k8s.io": "volumes are not attached in this cluster",
        "volumeattributesclasses.storage.k8s.io": "volumes do not change in this cluster",
    }
)
