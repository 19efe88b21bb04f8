"""A page of documentation as what its reader does: files that are written, commands that are
typed, and what they print.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

_FENCE = re.compile(r"^( *)```(.*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_NOT_RUN = re.compile(r"<!-- not run: .+ -->")
_STATUS = re.compile(r"# exit status (\d+)")
_GIVEN = re.compile(r"^<!-- given: (\S+) -->$", re.MULTILINE)
_INDENTED = re.compile(r" {4,}\S")
_ITEM = re.compile(r" *([*-]|\d+\.) ")
_LEFT_OUT = re.compile(r"<!-- (skipped|only on kube-apiserver): (.+) -->")
_HARMLESS = ("text", "python", "json", "lua", "mermaid")
"""Languages of blocks that nobody types, but for files with a title."""


@dataclasses.dataclass(frozen=True, slots=True)
class File:
    """The reader writes this; ``line`` is where the page says so, from 1."""

    line: int
    name: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Command:
    """The reader types this, and finds these lines in what it prints, in their order; it ends with
    this exit status.
    """

    line: int
    text: str
    printed: tuple[str, ...]
    status: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Manifest:
    """The page shows this, and nobody writes it: objects to check."""

    line: int
    text: str


Step = File | Command | Manifest


class PageError(ValueError):
    """A block that is neither run nor said not to be: names its line."""


def left_out(page: str, embedded: bool) -> str | None:
    """Why nobody follows the page on this sort of server, which its first line says; None: it is
    followed.
    """
    said = _LEFT_OUT.match(page)
    return said[2] if said is not None and (embedded or said[1] == "skipped") else None


def given(page: str) -> str | None:
    """The file in given/ with the objects that the page supposes in the cluster, if any."""
    said = _GIVEN.search(page)
    return said[1] if said is not None else None


def steps(page: str) -> Iterator[Step]:
    """What the page has its reader do, in order. Raises PageError."""
    lines = page.splitlines()
    position, before, item = 0, "", False
    while position < len(lines):
        opened = _FENCE.match(lines[position])
        if opened is None:
            item = _ITEM.match(text := lines[position]) is not None or (
                item and (not text or text.startswith(" "))
            )
            if _INDENTED.match(text) and not item and not lines[position - 1]:
                raise PageError(f"line {position + 1}: a block without a fence")
            before = text.strip() or before
            position += 1
            continue
        end = next(i for i in range(position + 1, len(lines)) if lines[i].strip() == "```")
        indent = len(opened[1])
        block = [line[indent:] for line in lines[position + 1 : end]]
        yield from _block(opened[2].strip(), block, position + 1, before)
        position, before = end + 1, ""


def _block(head: str, block: Sequence[str], line: int, before: str) -> Iterator[Step]:
    language = head.split(" ")[0]
    title = _TITLE.search(head)
    if _NOT_RUN.fullmatch(before) or (language in _HARMLESS and title is None):
        return
    if title is not None:
        yield File(line, title[1], "\n".join(block) + "\n")
    elif language == "console":
        yield from _commands(block, line)
    elif language == "yaml":
        yield Manifest(line, "\n".join(block) + "\n")
    else:
        raise PageError(f"line {line}: a block {head!r} that is not run; say why before it")


def _commands(block: Sequence[str], line: int) -> Iterator[Command]:
    """Each ``$ …`` with the lines below it."""
    starts = [number for number, text in enumerate(block) if text.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(block)], strict=True):
        last = next(i for i in range(start, end) if not block[i].endswith("\\"))
        typed = "\n".join(block[start : last + 1]).removeprefix("$ ")
        printed = [text for text in block[last + 1 : end] if text.strip()]
        stated = _STATUS.fullmatch(printed[-1]) if printed else None
        if stated is not None:
            printed.pop()
        status = int(stated[1]) if stated is not None else 0
        yield Command(line + 1 + start, typed, tuple(printed), status)


def missing(expected: Sequence[str], printed: str) -> str | None:
    """The first of the expected lines that is not found after those before it; None if all are.
    ``…`` stands for anything, and blanks for any number of them.
    """
    left = iter(printed.splitlines())
    for line in expected:
        pattern = re.compile(_pattern(line))
        if not any(pattern.fullmatch(text.strip()) for text in left):
            return line
    return None


def _pattern(line: str) -> str:
    parts = [r"\s+".join(map(re.escape, part.split(" "))) for part in _single(line).split("…")]
    return ".*".join(parts)


def _single(line: str) -> str:
    return " ".join(line.split())
