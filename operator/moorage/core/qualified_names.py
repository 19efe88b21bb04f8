"""Qualified names: the syntax of label keys, resource names and the like: ``name`` or ``prefix.example.com/name``.

Source: Kubernetes apimachinery ``validation.IsQualifiedName`` (v1.36), whose messages administrators know.
"""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def is_qualified(text: str) -> bool:
    """Whether this is a qualified name."""
    prefix, slash, name = text.rpartition("/")
    prefix_ok = not slash or (len(prefix) <= 253 and _SUBDOMAIN.fullmatch(prefix) is not None)
    return prefix_ok and len(name) <= 63 and _NAME.fullmatch(name) is not None
