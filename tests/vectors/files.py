"""Files of vectors: one family a file, one case a line (``NodeName.jsonl``, or
``NodeName.jsonl.gz``).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

Case: TypeAlias = dict[str, Any]

CASES = Path(__file__).with_name("cases")
"""The copies that belong to this repository, made by ``gzip --no-name`` so that equal cases make
equal files.
"""


def family_files(folder: Path) -> dict[str, Path]:
    """The folder's families by name, sorted."""
    files = [path for path in folder.iterdir() if path.name.endswith((".jsonl", ".jsonl.gz"))]
    return {path.name.split(".")[0]: path for path in sorted(files)}


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of one family. Where a case has steps, what it expects are the expectations of
    those that have one.

    A message to the reader of a case is left out.
    """
    raw = path.read_bytes()
    text = gzip.decompress(raw) if path.suffix == ".gz" else raw
    for case in map(json.loads, text.splitlines()):
        if "steps" in case:
            case["expect"] = {
                "steps": [step["expect"] for step in case["steps"] if "expect" in step]
            }
        if "attempts" in case:
            case["expect"]["attempts"] = {
                f"{i} {one['entity']}": {"order": one["order"], **one["expect"]}
                for i, one in enumerate(case["attempts"])
            }
        case.get("expect", {}).pop("message", None)
        yield case
