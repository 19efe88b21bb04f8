"""Where a replica answers, as its Lease says it to those who look for the leader."""

from __future__ import annotations

from typing import NamedTuple

SERVING_ANNOTATION = "moorage.dev/serving"
"""On the replicas' Leases: the address (URL) at which the replica answers."""
SERVING_CERTIFICATE_ANNOTATION = "moorage.dev/serving-certificate"
"""On the replicas' Leases: the certificate (PEM) that the replica shows there."""


class ServedAt(NamedTuple):
    """Where a replica answers (URL), and the certificate (PEM) that it shows there."""

    url: str
    certificate: str
