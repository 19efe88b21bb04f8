"""Where the page's documents come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from moorage.apps.ui.document_changes import Changes
from moorage.apps.ui.questions import Question


class PageSource(Protocol):
    """A cluster, a recording or an operator, as documents (``page_documents``)."""

    changes: Changes
    """Which documents are no longer what they were."""

    async def open(self) -> str:
        """Have what it takes to answer; what it is called. Raises CommandError."""

    async def run(self) -> None:
        """Keep it up to date, until cancelled or done."""

    async def close(self) -> None:
        """Let go of everything."""

    async def document(self, question: Question) -> Mapping[str, Any]:
        """The document, without waiting for long: what takes longer goes on in the background,
        and ``changes`` says when there is more. Raises Denied.
        """
