"""Names of objects and label values that are made from other names, which may be longer than their
new place allows.
"""

from __future__ import annotations

import hashlib

MAX_LABEL_CHARACTERS = 63
MAX_NAME_CHARACTERS = 253


def shortened(name: str, limit: int = MAX_LABEL_CHARACTERS) -> str:
    """``name``, or where it is longer than ``limit`` its beginning and a hash of the whole; valid
    wherever ``name`` is.
    """
    if len(name) <= limit:
        return name
    return f"{name[: limit - 11].rstrip('-._')}-{_digest(name)}"


def replica_lease(lease: str, identity: str) -> str:
    """The name of the Lease in which a replica of the installation with this leader's Lease says
    what it has ready.
    """
    return f"{shortened(lease, MAX_NAME_CHARACTERS - 11)}-{_digest(identity)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]
