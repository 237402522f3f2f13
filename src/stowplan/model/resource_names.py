"""The families of resource names, told apart by their spelling."""

from __future__ import annotations

from functools import lru_cache

from stowplan.model.label_syntax import key_problems

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
HUGE_PAGES_PREFIX = "hugepages-"
ATTACHABLE_VOLUMES_PREFIX = "attachable-volumes-"
NATIVE_DOMAIN = "kubernetes.io/"
# What quotas put before a resource name; a resource of that name would be mistaken for one.
_QUOTA_PREFIX = "requests."


@lru_cache(maxsize=4096)
def is_extended(name: str) -> bool:
    """Whether the resource belongs to a vendor: a domain that is not Kubernetes' own, and a valid name for quotas."""
    is_native = "/" not in name or NATIVE_DOMAIN in name
    return not is_native and not name.startswith(_QUOTA_PREFIX) and not key_problems(_QUOTA_PREFIX + name)


@lru_cache(maxsize=4096)
def is_scalar(name: str) -> bool:
    """Whether the resource is counted in whole units beside cpu, memory and ephemeral storage."""
    has_scalar_prefix = name.startswith((HUGE_PAGES_PREFIX, ATTACHABLE_VOLUMES_PREFIX))
    return has_scalar_prefix or NATIVE_DOMAIN in name or is_extended(name)


def is_pod_level(name: str) -> bool:
    """Whether the resource may be requested for a pod as a whole."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX)
