"""Answers for programs: ``-o json``, ``-o yaml``, and ``-o name``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import yaml

from moorage.apps.printing.answer_names import names_in

API_VERSION: Final = "output.moorage.dev/v1alpha1"


def is_for_people(form: str) -> bool:
    """Whether this format (``command_line.FORMATS``, or "") is sentences and tables."""
    return form in ("", "wide")


def document(kind: str, body: Mapping[str, Any], form: str) -> str:
    """The body as a document of this kind, in a format that is not for people, with its lines'
    ends. Empty lists are in it.
    """
    if form == "name":
        return "".join(f"{name}\n" for name in names_in(kind, body))
    whole = {"apiVersion": API_VERSION, "kind": kind, **body}
    if form == "yaml":
        return yaml.safe_dump(whole, sort_keys=False, allow_unicode=True)
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
