"""Answers for programs: ``-o json`` and ``-o yaml``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

API_VERSION = "output.moorage.dev/v1alpha1"
FORMATS = ("json", "yaml")


def document(kind: str, body: Mapping[str, Any], form: str) -> str:
    """The body as a document of this kind, ``form`` one of FORMATS, with its line's end. Empty
    lists are in it.
    """
    whole = {"apiVersion": API_VERSION, "kind": kind, **body}
    if form == "yaml":
        return yaml.safe_dump(whole, sort_keys=False, allow_unicode=True)
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
