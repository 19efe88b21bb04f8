"""Names of resources: which are extended ones, and which may stand for devices."""

from __future__ import annotations

import functools

from kubefacts.names import is_qualified

# ---- names ---------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def is_extended(resource: str) -> bool:
    """Whether this is a resource of somebody else than Kubernetes (``example.com/gpu``)."""
    native = "/" not in resource or "kubernetes.io/" in resource
    return (
        not native and not resource.startswith("requests.") and is_qualified(f"requests.{resource}")
    )


@functools.lru_cache(maxsize=4096)
def is_scalar(resource: str) -> bool:
    """Whether a resource other than cpu, memory and ephemeral-storage is tracked; all others are
    ignored.
    """
    return (
        resource.startswith(("hugepages-", "attachable-volumes-"))
        or "kubernetes.io/" in resource
        or is_extended(resource)
    )


@functools.lru_cache(maxsize=4096)
def is_delegable(resource: str) -> bool:
    """Whether devices of a class can stand for this resource."""
    return is_extended(resource) or resource.startswith(PREFIX)


PREFIX = "deviceclass.resource.kubernetes.io/"
"""Before a class's name: a resource that stands for the class whether that names one or not."""
