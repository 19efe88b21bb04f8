"""A name says which one it is: no two public classes share one, and no two modules
(docs/adr/0013-rooms-and-names.md).
"""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import Final

from tests.architecture.sources import sources

CLASSES: Final = {
    "LabelSelector": "a struct of Kubernetes' in core, and what kubefacts reads one as",
    "ListPage": "what adapters read, and what the embedded cluster stores",
    "Requirement": "as LabelSelector",
}
MODULES: Final = {
    "plugin": "the main module of a plugin's package",
    "arguments": "of one plugin, in its package; of all, in the framework",
    "queueing_hints": "what wakes the pods that a plugin rejected, in its package",
    "cli": "each distribution has one",
    "intree": "deciders in core, actors in the engine: the two halves of the same plugins",
    "bodies": "of our kinds in api, of requests in the embedded cluster",
    "common": "what the kinds of v1alpha1, or the strategies, have in common",
    "conditions": "ours in api, those of the embedded cluster's controllers",
    "connections": "to the API server, and of our own server",
    "ownership": "of profiles, and of objects in the embedded cluster",
    "policy": "kube-scheduler's old one, and the API group",
    "requests": "what pods ask for, and requests to the embedded cluster",
    "store": "of core, and of the embedded cluster",
}
"""Those that do, and why it is clear which one is meant."""


def test_no_class_has_the_name_of_another() -> None:
    """Private ones aside."""
    homes = defaultdict(set)
    for source in sources():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(source.module)
    assert {name for name, modules in homes.items() if len(modules) > 1} == CLASSES.keys()


def test_no_module_has_the_name_of_another() -> None:
    """Folders tell them apart for the interpreter only."""
    homes = defaultdict(set)
    for source in sources():
        name = source.module.rpartition(".")[2]
        if not name.startswith("__") and not any(
            other.module.startswith(f"{source.module}.") for other in sources()
        ):
            homes[name].add(source.module)
    assert {name for name, modules in homes.items() if len(modules) > 1} == MODULES.keys()
