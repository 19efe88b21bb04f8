"""Host ports that pods ask for, and when two of them clash."""

from __future__ import annotations

from typing import NamedTuple

WILDCARD = "0.0.0.0"  # noqa: S104 - a host IP to compare with, nothing is bound to it


class HostPort(NamedTuple):
    """A host port that a pod asks for, with defaults filled in: protocol TCP, ip 0.0.0.0."""

    protocol: str
    port: int
    ip: str


def clash(one: HostPort, other: HostPort) -> bool:
    """Whether two host ports can't be held on one node: same protocol and port, under the same
    address or either under the wildcard.
    """
    same = one.protocol == other.protocol and one.port == other.port
    return same and (one.ip == other.ip or WILDCARD in (one.ip, other.ip))
