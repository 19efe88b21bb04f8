"""What tests of origins have in common."""

from __future__ import annotations

from typing import Any, NamedTuple

import yaml

from moorage.apps.convert.convert import ConversionOptions, convert


class Converted(NamedTuple):
    """Specs by name of the profile, what was said without the file's name, and the exit status."""

    specs: dict[str, dict[str, Any]]
    lines: list[str]
    status: int


def converted(origin: str, *texts: str) -> Converted:
    """What `moorage convert --from ORIGIN` makes of files."""
    sources = [("f", text) for text in texts]
    report = convert(sources, ConversionOptions(from_=origin))
    specs = {
        body["metadata"]["name"]: body["spec"] for body in yaml.safe_load_all(report.output) if body
    }
    lines = [line.removeprefix("f: document 1: ") for line in report.lines]
    return Converted(specs, lines, report.status)
