"""Hashes in place of names: of nodes, namespaces and pods, and of what pods are of."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

HASHED: Final = (
    "names of nodes, namespaces and pods that the cluster lists or a document has as such, "
    "owners and groups of pods; of names with dots each label"
)
NOT_HASHED: Final = (
    "other names, as of profiles, PluginConfigs and labels; addresses; what is gone and only "
    "a message tells of"
)
_OF_NODES: Final = ("node", "nodeName", "nominatedNodeName", "ours", "theirs")
_OF_PODS: Final = ("pod", "object", "namespace", "namespaces", "identity", "leader", "group")
_FIELDS: Final = frozenset((*_OF_NODES, *_OF_PODS))
"""Of documents: their texts are names, of pods as NAMESPACE/NAME, of replicas as POD_UID."""
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_NO_SECRET: Final = frozenset(("default", "kube-system", "kube-public", "kube-node-lease"))


def names_in(document: Any) -> Iterator[str]:
    """The names that a document has in fields for them: also of what is gone."""
    if isinstance(document, list | tuple):
        for one in document:
            yield from names_in(one)
    if not isinstance(document, Mapping):
        return
    for field, value in document.items():
        if field in _FIELDS:
            for text in value if isinstance(value, list) else [value]:
                yield from _NAME.findall(text) if isinstance(text, str) else ()
        elif field == "owner" and isinstance(value, str):
            yield from _NAME.findall(value.rpartition("/")[2])
        yield from names_in(value)


class NameHashes:
    """The same name has the same hash, where the salt is the same."""

    def __init__(self, names: Collection[str], salt: bytes) -> None:
        self._names = frozenset(names) - _NO_SECRET
        self._labels = frozenset(name.partition(".")[0] for name in self._names) - _NO_SECRET
        self._salt = salt

    def text(self, text: str) -> str:
        """With a hash for each of the names."""
        return _NAME.sub(self._of, text)

    def _of(self, found: re.Match[str]) -> str:
        """A machine's name may go without its domain, a pod's with one."""
        name = found[0]
        whole = name in self._names
        labels = name.split(".")
        return ".".join(self._hash(one) if whole or one in self._labels else one for one in labels)

    def _hash(self, label: str) -> str:
        return f"x{hashlib.sha256(self._salt + label.encode()).hexdigest()[:12]}"
