"""Shares: which pods a canary decides about.

A function of the pod's UID and the revision alone: a pod stays on its side however often it is
tried, and after a failover; of another trial other pods are.
"""

from __future__ import annotations

import hashlib

_PARTS = 10_000


def in_share(uid: str, revision: str, percent: int) -> bool:
    """Whether a pod belongs to this share (0 to 100) of the trial of a revision."""
    digest = hashlib.blake2b(f"{revision}/{uid}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % _PARTS < percent * _PARTS // 100
