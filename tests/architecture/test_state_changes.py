"""What decisions are made from changes in few hands, which journal it."""

from __future__ import annotations

import ast

import pytest

from moorage.core.columns.pod_info import PodInfo
from tests.architecture.sources import Source, sources

HOME = "core.columns."
SHARED = {"node", "pod", "state"}
"""Fields of others have these names too."""


@pytest.mark.parametrize(
    "source",
    [source for source in sources() if not source.module.startswith(HOME)],
    ids=lambda source: source.module,
)
def test_what_is_known_of_a_pod_is_assigned_in_columns_alone(source: Source) -> None:
    """Anybody else asks the cache, so that a journal has it."""
    assigned = {
        target.attr
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute)
        and not (isinstance(target.value, ast.Name) and target.value.id == "self")
    }
    assert not assigned & set(PodInfo.__slots__) - SHARED
