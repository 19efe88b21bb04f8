"""The sentence that an explanation begins with, wherever it is shown."""

from __future__ import annotations

import datetime

from rich.text import Text

from moorage.apps.explain import pending_texts, placed_texts
from moorage.apps.explain.explanation_documents import Document
from moorage.apps.printing.terminal import Style, sentence


def headline(document: Document) -> Text:
    """With its colour."""
    match document["verdict"]:
        case "NoProfile" | "BeingDeleted" | "Suspended" | "ProfileWaiting":
            return sentence(f"{document['pod']} waits: {document['message']}", Style.REFUSED)
        case "NotResolved":
            return sentence(
                f"{document['pod']} is not explained: {document['message']}", Style.WAITS
            )
        case _ if "candidate" in document:
            return placed_texts.candidate_headline(document)
        case _ if "scores" in document:
            return placed_texts.bound_headline(document)
    return pending_texts.headline(document, datetime.datetime.fromisoformat(document["at"]))


def first_line(document: Document) -> str:
    """Without."""
    return headline(document).plain
