"""The objects in YAML and JSON files, those of Lists one by one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from moorage.api import yaml_documents
from moorage.api.yaml_documents import DocumentError
from moorage.apps.commands.input_files import read_text

SUFFIXES: Final = (".yaml", ".yml", ".json")


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """One object of a file; ``number`` counts the file's documents from 1."""

    file: Path
    number: int
    body: dict[str, Any]

    @property
    def kind(self) -> str:
        """Its kind, "" for none."""
        return str(self.body.get("kind") or "")

    @property
    def api_version(self) -> str:
        """Its group and version, "" for none."""
        return str(self.body.get("apiVersion") or "")

    @property
    def type(self) -> tuple[str, str]:
        """Its kind and API version."""
        return self.kind, self.api_version

    @property
    def name(self) -> str:
        """metadata.name, "" for none."""
        metadata = self.body.get("metadata")
        return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""

    def fault(self, text: object) -> str:
        """A line about this document."""
        return f"{self.file}: document {self.number} ({self.kind} {self.name}): {text}"


def files_in(paths: Iterable[Path]) -> Iterator[Path]:
    """The files, and those in folders; ``STDIN`` as it is."""
    for path in paths:
        if path.is_dir():
            yield from sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)
        else:
            yield path


def documents_of(
    file: Path, load: Callable[[str], Sequence[Any]] = yaml_documents.load_all
) -> Iterator[Document]:
    """The objects in a file. Raises DocumentError, OSError and UnicodeDecodeError."""
    for number, document in enumerate(load(read_text(file)), start=1):
        if not isinstance(document, dict):
            raise DocumentError(f"document {number} is no object")
        for body in _items(document):
            yield Document(file, number, body)


def _items(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The items of a List, or of a list of one kind, which does not repeat what they are."""
    kind, items = str(document.get("kind") or ""), document.get("items")
    if not kind.endswith("List") or not isinstance(items, list):
        yield document
        return
    one = kind.removesuffix("List")
    said = {"apiVersion": document.get("apiVersion"), "kind": one} if one else {}
    for item in items:
        yield {**said, **item} if isinstance(item, dict) else {}
