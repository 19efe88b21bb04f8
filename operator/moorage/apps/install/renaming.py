"""Renaming: our objects for an installation of another name, in another namespace.

Manifests are written for the installation `moorage` in `moorage-system`. Which of their texts are
names of objects is told by the fields that they stand in: a container may be called moorage in
every installation.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from moorage.apps.install.object_keys import INSTANCE

NAMESPACE: Final = "moorage-system"
NAME: Final = "moorage"
_NAMED_BY: Final = frozenset(
    {
        "metadata",
        "roleRef",
        "subjects",
        "configMap",
        "secret",
        "service",
        "serviceAccount",
        "issuerRef",
    }
)
"""What has a field `name` that says which object of ours it is."""
_REFERENCES: Final = frozenset(
    {"serviceAccountName", "secretName", "policyName", "commonName", "resourceNames"}
)
_NAMED_BY_NAME: Final = re.compile(rf"^{NAME}(?=$|-)")
_PLACES: Final = re.compile(rf"\b({NAMESPACE}|{NAME})\b")


class Names(NamedTuple):
    """What an installation is called, and where it is."""

    name: str = NAME
    namespace: str = NAMESPACE


def renamed(node: Any, names: Names, of: str = "") -> Any:
    """The same object, or part of one, for this installation. ``of`` is the key that the part
    stands at.
    """
    if isinstance(node, list):
        return [renamed(value, names, of) for value in node]
    if isinstance(node, str):
        return _text(node, names, of)
    if not isinstance(node, dict):
        return node
    return {
        key: names.name
        if key == INSTANCE
        else renamed(value, names, "secretName" if key == "name" and of in _NAMED_BY else key)
        for key, value in node.items()
    }


def _text(text: str, names: Names, of: str) -> str:
    """A text that is our namespace, or names it, as `moorage-admission.moorage-system.svc` does,
    and one that is an object's name.
    """
    if NAMESPACE in text:
        known = {NAME: names.name, NAMESPACE: names.namespace}
        return _PLACES.sub(lambda found: known[found[1]], text)
    return _NAMED_BY_NAME.sub(lambda _: names.name, text) if of in _REFERENCES else text
