"""The sentence that an explanation begins with, wherever it is shown."""

from __future__ import annotations

import datetime

from rich.text import Text

from moorage.apps.explain import group_texts, pending_texts, placed_texts
from moorage.apps.explain.explanation_documents import Document
from moorage.apps.printing.terminal import Style, sentence


def headline(document: Document) -> Text:
    """With its colour."""
    match document["verdict"]:
        case "NoProfile" | "BeingDeleted" | "Suspended" | "ProfileWaiting" if "pod" in document:
            return sentence(f"{document['pod']} waits: {document['message']}", Style.REFUSED)
        case "NotResolved" if "pod" in document:
            return sentence(
                f"{document['pod']} is not explained: {document['message']}", Style.WAITS
            )
        case _ if "candidate" in document:
            return placed_texts.candidate_headline(document)
        case _ if document.get("group") is not None or "podGroup" in document:
            now = datetime.datetime.fromisoformat(document["at"])
            return group_texts.headline(document, now)
        case _ if "scores" in document:
            return placed_texts.bound_headline(document)
    return pending_texts.headline(document, datetime.datetime.fromisoformat(document["at"]))


def first_line(document: Document) -> str:
    """Without."""
    return headline(document).plain
