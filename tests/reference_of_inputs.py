"""Reference pages of docs/ that say what may be typed and written: the commands, the fields of both
kinds, the operator's configuration. tests/generate.py writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import typer
import yaml

from moorage.api import crd_files
from moorage.api.decoding import decoder
from moorage.api.operator_config import OperatorConfiguration, environment_variable, fields_of
from moorage.apps.cli import FLAGS, app
from tests.reference_pages import code, page, table

_NOTHING = "–"
Schema = Mapping[str, Any]


def pages() -> Mapping[str, str]:
    """The generated files of docs/: name -> text."""
    return {
        "commands.md": commands_page(),
        "fields.md": fields_page(),
        "configuration.md": configuration_page(),
    }


# ---- commands ------------------------------------------------------------------------------------


def commands_page() -> str:
    """Each command with its words and options."""
    group: Any = typer.main.get_command(app)
    sections = [part for name in sorted(group.commands) for part in _command(group.commands[name])]
    return page(
        "Commands",
        "`moorage COMMAND`, or `kubectl moorage COMMAND`.",
        "Exit status: 0 it is so, 1 it is not (the answer is complete), 2 wrong use, 3 no answer.",
        *sections,
    )


def _command(command: Any) -> Iterator[str]:
    yield f"## moorage {command.name}"
    yield command.help
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    if shown:
        yield table(("word", "meaning"), ((_word(each), each.help or "") for each in shown))


def _word(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        many = "…" if parameter.nargs != 1 else ""
        return code(parameter.name.upper() + many)
    names = ", ".join(map(code, parameter.opts))
    given = parameter.default not in (None, "", False, (), [])
    return f"{names} ({parameter.default})" if given else names


# ---- fields --------------------------------------------------------------------------------------


def fields_page() -> str:
    """Spec and status of both kinds, field by field."""
    sections: list[str] = []
    for text in crd_files.crd_documents().values():
        document = yaml.safe_load(text)
        if document.get("kind") == "CustomResourceDefinition":
            sections += _kind(document["spec"])
    return page(
        "Fields",
        "What a SchedulerProfile and a PluginConfig consist of. `kubectl explain sprof.spec` says "
        "the same.\n`[]` stands for each item of a list, `{}` for each key of a map.",
        *sections,
    )


def _kind(spec: Schema) -> Iterator[str]:
    (version,) = spec["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    kind, group = spec["names"]["kind"], spec["group"]
    yield f"## {kind}"
    yield f"`apiVersion: {group}/{version['name']}`, short name `{spec['names']['shortNames'][0]}`."
    for part in ("spec", "status"):
        yield f"### {part} of a {kind}"
        yield table(("field", "type", "default", "meaning"), _rows(schema[part], part, {}))


def _rows(schema: Schema, path: str, shown: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """``shown``: where fields with these parts were shown first, by the parts as JSON."""
    for name, field in schema.get("properties", {}).items():
        where = f"{path}.{name}"
        inner, suffix = field, ""
        while (nested := inner.get("items") or _values(inner)) is not None:
            suffix += "[]" if inner.get("items") else "{}"
            inner = nested
        parts = json.dumps(inner.get("properties", {}), sort_keys=True)
        twin = shown.setdefault(parts, where) if inner.get("properties") else where
        same = "" if twin == where else f" As `{twin}`."
        yield code(where), _type(field), _default(field), field.get("description", "") + same
        if twin == where:
            yield from _rows(inner, where + suffix, shown)


def _values(field: Schema) -> Schema | None:
    """The schema of a map's values."""
    found = field.get("additionalProperties")
    return found if isinstance(found, Mapping) else None


def _type(field: Schema) -> str:
    if "enum" in field:
        return ", ".join(code(value) for value in field["enum"])
    if field.get("x-kubernetes-int-or-string"):
        return "integer or string"
    kind = str(field.get("type", "any"))
    if kind == "array":
        return f"list of {_type(field['items'])}"
    limits = [f"{sign} {field[key]}" for key, sign in _LIMITS if key in field]
    return " ".join([kind, *limits])


def _default(field: Schema) -> str:
    if "default" not in field:
        return _NOTHING
    value = field["default"]
    if field.get("type") == "string" and isinstance(value, float):
        return code(f"{value:g}s")  # a duration
    return code(value if isinstance(value, str) else json.dumps(value))


_LIMITS = (("minimum", "≥"), ("maximum", "≤"))


# ---- configuration -------------------------------------------------------------------------------


def configuration_page() -> str:
    """The OperatorConfiguration, with the flags and variables that set the same."""
    flags = {flag.field: flag.name for flag in FLAGS}
    rows = (
        (
            "<br>".join(map(code, filter(None, (path, flags.get(path))))),
            _type(field),
            _default(field),
            field.get("description", ""),
        )
        for path, field in fields_of(decoder(OperatorConfiguration).schema)
    )
    example = "leaderElection.leaseDuration"
    return page(
        "Configuration of the operator",
        "`moorage run --config FILE`: an OperatorConfiguration, `apiVersion: "
        "config.moorage.dev/v1alpha1`.\nDefaults are overruled by the file, the file by the "
        "environment, the environment by flags.",
        f"Each field has an environment variable, as `{environment_variable(example)}` is that "
        f"of `{example}`. Some have a flag.",
        table(("field, flag", "type", "default", "meaning"), rows),
    )
