"""The differences that are known: `differences.yaml`, and its page in packages/towtank/docs/."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import msgspec

from tests.conformance.comparing import Difference
from towtank.strategies import kind_registry

HERE: Final = Path(__file__).parent


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Steps and paths, each with `*` for anything, in which the two may differ; `why` and `what`
    are for readers.
    """

    what: str
    why: str
    steps: tuple[str, ...]
    paths: tuple[str, ...] = ("*",)

    def covers(self, difference: Difference) -> bool:
        """Whether this is it."""
        # Brackets are list indices here, no character classes.
        path = difference.path.replace("[", "(").replace("]", ")")
        patterns = (pattern.replace("[", "(").replace("]", ")") for pattern in self.paths)
        return any(fnmatchcase(difference.step, step) for step in self.steps) and any(
            fnmatchcase(path, pattern) for pattern in patterns
        )


def known() -> tuple[Known, ...]:
    """All, in the file's order."""
    return msgspec.yaml.decode((HERE / "differences.yaml").read_bytes(), type=tuple[Known, ...])


def unknown(found: Iterable[Difference], listed: Iterable[Known]) -> list[Difference]:
    """Those that are not listed."""
    listed = tuple(listed)
    return [difference for difference in found if not any(one.covers(difference) for one in listed)]


def gone(found: Iterable[Difference], listed: Iterable[Known]) -> list[Known]:
    """Those that are listed and were not found."""
    found = tuple(found)
    return [one for one in listed if not any(one.covers(difference) for difference in found)]


def pages() -> Mapping[str, str]:
    """The generated file of towtank's docs: name -> text."""
    rows = "".join(f"| {one.what} | {one.why} |\n" for one in known())
    versions: dict[str, list[str]] = {}
    for resource in kind_registry.resources():
        versions.setdefault(resource.api_version, []).append(resource.plural)
    served = "".join(
        f"| `{version}` | {', '.join(sorted(plurals))} |\n"
        for version, plurals in sorted(versions.items())
    )
    page = (HERE / "page.md").read_text(encoding="utf-8")
    return {"differences.md": page.replace("{served}\n", served).replace("{differences}\n", rows)}
