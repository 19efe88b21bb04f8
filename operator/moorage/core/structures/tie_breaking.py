"""Tie-break: which of the nodes with the best score a pod takes, and which placement a pod group.

A function of (seed, uid, name): the same for any order of rows, different from pod to pod, so that
equal pods spread over equal nodes. kube-scheduler draws at random instead, which cannot be
replayed.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def name_hash(name: str) -> int:
    """What stands for a name in ``tie_break``, of 64 bits."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def pick(rows: npt.NDArray[np.intp], tie_break: npt.NDArray[np.uint64], uid: str, seed: int) -> int:
    """One of ``rows``; ``tie_break`` holds the hash of each row's node name (uint64[capacity])."""
    if rows.size == 1:
        return int(rows[0])
    return int(rows[_mixed(rows, tie_break, uid, seed).argmin()])


def in_order(
    rows: npt.NDArray[np.intp], tie_break: npt.NDArray[np.uint64], uid: str, seed: int
) -> npt.NDArray[np.intp]:
    """All of ``rows``, the one that ``pick`` would take first."""
    return rows[_mixed(rows, tie_break, uid, seed).argsort(kind="stable")]


def _mixed(
    rows: npt.NDArray[np.intp], tie_break: npt.NDArray[np.uint64], uid: str, seed: int
) -> npt.NDArray[np.uint64]:
    digest = hashlib.blake2b(uid.encode(), digest_size=8, key=seed.to_bytes(8, "little")).digest()
    mixed: npt.NDArray[np.uint64] = (
        tie_break[rows] ^ np.uint64(int.from_bytes(digest, "little"))
    ) * _ODD
    mixed ^= mixed >> _SHIFT
    mixed *= _ODD
    return mixed
