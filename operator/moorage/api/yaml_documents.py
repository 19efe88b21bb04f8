"""YAML in and out. The only module of api that knows the format.

Reading is stricter than PyYAML: a key that comes twice is an error, not the last one's win; keys
are strings; dates stay text. A merge (<<) stands for its keys at its place, as kubectl has it: what
is written after it counts, and what it brings counts instead of what is written before it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import yaml


class DocumentError(ValueError):
    """The text is not YAML, or not YAML that means one thing only."""


MAX_VALUES = 100_000
"""Of a document, its aliases written out; one of a longer text may have as many as characters."""


_MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.repeated: list[yaml.YAMLError] = []
        self.written: dict[int, list[yaml.Node]] = {}
        """By the id of a mapping's node: the keys that stand in it, without those of merges."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        keys = [key for key, _ in node.value if key.tag != _MERGE]
        self.written.setdefault(id(node), keys)
        last: dict[object, tuple[yaml.Node, yaml.Node]] = {}  # merges of merges are many
        for pair in node.value:
            part = yaml.MappingNode(node.tag, [pair], node.start_mark, node.end_mark)
            super().flatten_mapping(part)
            for key, value in part.value:
                is_text = isinstance(key, yaml.ScalarNode)
                last[(key.tag, key.value) if is_text else id(key)] = key, value
        node.value = [*last.values()]

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        self.flatten_mapping(node)
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _fault(f"the key {key!r} is not a string: quote it", key_node)
        for key_node in self.written[id(node)]:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                self.repeated.append(_fault(f"the key {key!r} comes twice", key_node))
            seen.add(key)
        return super().construct_mapping(node, deep)


def _fault(text: str, node: yaml.Node) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, text, node.start_mark)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Dumper(yaml.SafeDumper):
    """Lists are indented below their key, as Kubernetes' own files are; nothing is abbreviated by
    an anchor.
    """

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


class LoadedDocument(NamedTuple):
    """A document; ``repeated``: where keys come twice in it, of which the last ones count."""

    document: Any
    repeated: tuple[str, ...]


def load_all(text: str) -> list[Any]:
    """Every document of a file, empty ones left out. Raises DocumentError with line and column."""
    loaded = load_leniently(text)
    for one in loaded:
        if one.repeated:
            raise DocumentError(f"not readable as YAML: {one.repeated[0]}")
    return [one.document for one in loaded]


def load_leniently(text: str) -> list[LoadedDocument]:
    """The same, with keys that come twice as older programs read them. Raises DocumentError."""
    try:
        return list(_documents(text))
    except yaml.YAMLError as error:
        raise DocumentError(f"not readable as YAML: {_where(error)}") from error
    except RecursionError as error:
        raise DocumentError("not readable as YAML: nested too deeply") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # PyYAML's own, from values that it can't make
        text = f"not readable as YAML: a value is not what its form or tag says: {error}"
        raise DocumentError(text) from error


def _documents(text: str) -> Iterator[LoadedDocument]:
    loader = _Loader(text)
    while loader.check_data():  # type: ignore[no-untyped-call]
        document = loader.get_data()
        _check_size(document, max(MAX_VALUES, len(text)))
        repeated, loader.repeated = tuple(map(_where, loader.repeated)), []
        loader.written.clear()
        if document is not None:
            yield LoadedDocument(document, repeated)


def _check_size(document: Any, most: int) -> None:
    """A small text can mean a huge document, or one without end, by aliases. Raises ValueError."""
    left, waiting = most, [document]
    while waiting:
        value = waiting.pop()
        waiting += (
            value.values()
            if isinstance(value, dict)
            else value
            if isinstance(value, list | set | tuple)
            else ()
        )
        left -= 1
        if left < len(waiting):
            raise ValueError(f"it has more than {most} values, its aliases written out")


def _where(error: yaml.YAMLError) -> str:
    """Line, column and what is wrong there, in one line."""
    mark = getattr(error, "problem_mark", None)
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    return place + (getattr(error, "problem", None) or " ".join(str(error).split()))


def dump(document: Any) -> str:
    """One document, keys in their order. Where a character does not print, all that is not ASCII is
    escaped.
    """
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
    if text.replace("\n", "").isprintable():
        return text
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=False)
