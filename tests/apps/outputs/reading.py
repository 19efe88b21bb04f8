"""Documents that commands write, read as a program reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from moorage.apps.outputs.output_kinds import OUTPUTS
from moorage.apps.printing.documents import document


def read_output(text: str) -> dict[str, Any]:
    """The document of ``-o json``; it has its answer first, and is of a kind that docs/outputs.md
    describes.
    """
    found: dict[str, Any] = json.loads(text)
    assert [*found][:3] == ["apiVersion", "kind", "answer"]
    OUTPUTS.validate_json(text)
    return found


def written(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """A body as the document that a command writes of it."""
    return read_output(document(kind, body, "json"))
