"""What decisions are made from changes in few hands, which journal it, and what is known of a pod
changes in none: key frames are made of it later.
"""

from __future__ import annotations

import ast

import pytest

from moorage.core.columns.pod_info import PodInfo
from tests.architecture.sources import Source, sources

HOME = "core.columns."
SHARED = {"node", "pod", "state"}
"""Fields of others outside have these names too."""


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.module)
def test_what_is_known_of_a_pod_is_assigned_nowhere(source: Source) -> None:
    """Outside of core/columns one asks the cache, so that a journal has it; inside, another PodInfo
    takes the place of the one before.
    """
    assigned = {
        target.attr
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        for whole in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for target in ast.walk(whole)
        if isinstance(target, ast.Attribute)
        and isinstance(target.ctx, ast.Store)
        and not (isinstance(target.value, ast.Name) and target.value.id == "self")
    }
    known = set(PodInfo.__slots__)
    assert not assigned & (known if source.module.startswith(HOME) else known - SHARED)
