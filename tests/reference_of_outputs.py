"""The reference of what commands write for programs: docs/outputs.md, and its JSON Schema.
tests/generate.py writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from moorage.apps.outputs.output_kinds import COMMANDS, schema
from tests.reference_pages import code, page, table

Schema = Mapping[str, Any]
_OF_ALL = ("apiVersion", "kind", "answer")


def pages() -> Mapping[str, str]:
    """The generated files of docs/: name -> text."""
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema()}
    return {
        "outputs.md": outputs_page(),
        "outputs.schema.json": json.dumps(whole, indent=1) + "\n",
    }


def outputs_page() -> str:
    """Each kind of document with its fields."""
    whole = schema()
    parts = whole["$defs"]
    sections = [
        text
        for one in whole["oneOf"]
        for found in one.get("oneOf", [one])
        for text in _document(_followed(found, parts), parts)
    ]
    return page(
        "Documents for programs",
        "What `-o json` and `-o yaml` write. `-o name` writes the names in it alone, one a line.\n"
        "[outputs.schema.json](outputs.schema.json) says the same as JSON Schema.",
        "All of them begin with `apiVersion: output.moorage.dev/v1alpha1`, `kind`, and `answer`: "
        "the sentence that\nwould do as the only line. Times are RFC 3339, spans are seconds, "
        "quantities are strings as Kubernetes writes\nthem. What is not known is null; lists may "
        "be empty. A field is always there, unless its meaning begins with “Maybe”.",
        "`[]` stands for each item of a list, `{}` for each value of a map.",
        "Some commands write something else than an answer, and have no document: `record` and "
        "`snapshot` a recording, which\n`-o` names (`moorage replay FILE -o json` says what is in "
        "it); `convert`, `crds` and `completion` what other programs\nread. What `convert` leaves "
        "out is told on stderr.",
        *sections,
    )


def _document(found: Schema, parts: Schema) -> Iterator[str]:
    fields = found["properties"]
    kind = fields["kind"]["const"]
    question = fields.get("question", {}).get("const")
    yield f"## {kind}" + (f", {code(f'question: {question}')}" if question else "")
    yield f"{code(f'moorage {COMMANDS[kind]}')}. {' '.join(found['description'].split())}"
    shown = {name: one for name, one in fields.items() if name not in _OF_ALL}
    rows = _rows({**found, "properties": shown}, "", parts, {})
    yield table(("field", "type", "meaning"), rows)


def _rows(
    found: Schema, path: str, parts: Schema, told: dict[str, str]
) -> Iterator[tuple[str, str, str]]:
    """``told``: where the fields of a part were told first, by its name."""
    for name, field in found["properties"].items():
        where = f"{path}{name}"
        meaning = " ".join(field.get("description", "").split())
        if name not in found["required"]:
            meaning = f"Maybe. {meaning}"
        inner = list(_parts_of(field, where))
        new = [(at, part) for at, part in inner if told.setdefault(part, at) == at]
        same = [f" As {code(told[part])}." for at, part in inner if told[part] != at]
        yield code(where), _type(field), meaning + "".join(same)
        for at, part in new:
            yield from _rows(parts[part], f"{at}.", parts, told)


def _parts_of(field: Schema, where: str) -> Iterator[tuple[str, str]]:
    """Where objects are in a field, and the names of their types."""
    if "$ref" in field:
        yield where, field["$ref"].rpartition("/")[2]
    for one in field.get("anyOf", ()):
        yield from _parts_of(one, where)
    if "items" in field:
        yield from _parts_of(field["items"], f"{where}[]")
    if isinstance(field.get("additionalProperties"), Mapping):
        yield from _parts_of(field["additionalProperties"], f"{where}{{}}")


def _followed(found: Schema, parts: Schema) -> Schema:
    followed: Schema = parts[found["$ref"].rpartition("/")[2]] if "$ref" in found else found
    return followed


def _type(field: Schema) -> str:
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(map(_type, field["anyOf"])))
    if "$ref" in field:
        return "object"
    if "const" in field or "enum" in field:
        return ", ".join(map(code, field.get("enum") or [field["const"]]))
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    if isinstance(field.get("additionalProperties"), Mapping):
        return f"map of {_type(field['additionalProperties'])}"
    return str(field.get("type", "any"))
