"""Questions about the past of a page that is live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from moorage.apps.printing.amounts import moment
from moorage.apps.ui.questions import Question

OF_PAST: Final = ("timeline", "decisions", "compare")
"""The documents that only a recording has."""

PRESENT_ALONE: Final = "the state of profiles and the queue's order are known of the present alone"


def is_of_past(question: Question) -> bool:
    """Whether only a recording can answer it."""
    of_world = question.document == "nodes" and bool(question.b)
    return question.at is not None or of_world or question.document in OF_PAST


def as_past(found: Mapping[str, Any], question: Question, shown: str) -> Mapping[str, Any]:
    """What a recording answered, as the page of ``shown`` tells it: there is a present, too."""
    if question.at is None:
        return found
    told = {**found, "source": f"what was recorded of {shown}, as it was at {moment(question.at)}"}
    if question.document != "overview":
        return told
    left_out = [*found["leftOut"], PRESENT_ALONE]
    return {**told, "cluster": shown, "live": True, "leftOut": left_out}
