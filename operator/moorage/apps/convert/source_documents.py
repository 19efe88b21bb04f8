"""Documents: what a converter looks for in files, wherever in them it is.

A file may hold several; objects have them inside, as ConfigMaps do, in a field or as a text.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from moorage.api import yaml_documents
from moorage.api.yaml_documents import DocumentError


@dataclasses.dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document that can be converted, and what to call it."""

    source: str
    body: Mapping[str, Any]
    repeated: tuple[str, ...] = ()
    """Keys that come twice in the file's document."""

    def with_repeated(self, repeated: tuple[str, ...]) -> SourceDocument:
        """The same; a text within a text has its own."""
        return dataclasses.replace(self, repeated=self.repeated or repeated)


@dataclasses.dataclass(frozen=True, slots=True)
class WantedDocuments:
    """Which documents: those that match. A text within a document is only read when it has one of
    ``words``.
    """

    matches: Callable[[Mapping[str, Any]], bool]
    words: tuple[str, ...]


def found(source: str, text: str, wanted: WantedDocuments) -> Iterator[SourceDocument]:
    """The documents in a text that are wanted. Raises DocumentError."""
    for number, (document, repeated) in enumerate(yaml_documents.load_leniently(text), start=1):
        yield from (
            one.with_repeated(repeated)
            for one in _within(f"{source}: document {number}", document, wanted)
        )


def found_at(source: str, text: str, key: str, wanted: WantedDocuments) -> Iterator[SourceDocument]:
    """What this key of ConfigMaps holds, which must be readable. Raises DocumentError."""
    for number, document in enumerate(yaml_documents.load_all(text), start=1):
        for place, one in _config_maps(f"{source}: document {number}", document):
            data = one.get("data")
            if isinstance(data, dict) and isinstance(data.get(key), str):
                where = f"{place}, data[{key}]"
                try:
                    yield from found(where, data[key], wanted)
                except DocumentError as error:
                    raise DocumentError(f"{where}: {error}") from error


def _within(source: str, value: Any, wanted: WantedDocuments) -> Iterator[SourceDocument]:
    """A document that is wanted, or those that others hold: Lists, ConfigMaps, what providers of
    clusters wrap a configuration into.
    """
    if isinstance(value, dict) and wanted.matches(value):
        yield SourceDocument(source, value)
    elif isinstance(value, dict):
        for name, one in value.items():
            place = f"data[{name}]" if source.endswith(", data") else name
            yield from _within(f"{source.removesuffix(', data')}, {place}", one, wanted)
    elif isinstance(value, list):
        for i, one in enumerate(value, start=1):
            yield from _within(f"{source.removesuffix(', items')}, item {i}", one, wanted)
    elif isinstance(value, str) and any(word in value for word in wanted.words):
        with contextlib.suppress(DocumentError):  # a text that only speaks of it
            yield from found(source, value, wanted)


def _config_maps(place: str, document: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(document, dict):
        return
    if document.get("kind") == "ConfigMap":
        yield place, document
    elif document.get("kind") in ("List", "ConfigMapList"):
        for i, item in enumerate(document.get("items") or (), start=1):
            yield from _config_maps(f"{place}, item {i}", item)
