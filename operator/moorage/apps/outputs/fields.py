"""How documents are typed, and what all of them have."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict  # noqa: UP035 - before 3.12 pydantic needs it

__all__ = ["AnsweredOutput", "NotRequired", "TypedDict"]


class AnsweredOutput(TypedDict):
    """What all documents have: also ``kind``, by which one is told from the others, and ``answer``,
    the sentence that would do as the only line.
    """

    apiVersion: Literal["output.moorage.dev/v1alpha1"]
    answer: str
