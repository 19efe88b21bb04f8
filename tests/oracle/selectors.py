"""Label selectors, naively."""

from __future__ import annotations

from moorage.core.objects.meta import Labels
from moorage.core.objects.selector_terms import LabelSelector
from tests.oracle.affinity import holds


def selects(selector: LabelSelector | None, labels: Labels | None) -> bool:
    """Whether a selector selects these labels; a missing one selects nothing."""
    if selector is None:
        return False
    mine = labels or {}
    equal = all(mine.get(key) == value for key, value in (selector.match_labels or {}).items())
    return equal and all(holds(one, mine.get(one.key)) for one in selector.match_expressions or ())


def is_empty(selector: LabelSelector | None) -> bool:
    """Whether a selector is there and asks for nothing."""
    return selector is not None and not selector.match_labels and not selector.match_expressions
