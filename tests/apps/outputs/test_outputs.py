"""Documents for programs: that each kind is described, and that a reader finds what is wrong.

What each command writes is read by ``reading.read_output`` in the command's own tests.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import typer
from pydantic import ValidationError

from moorage.apps.cli import app
from moorage.apps.outputs.output_kinds import COMMANDS, schema
from moorage.apps.printing.answer_names import NAMES
from tests.apps.outputs.reading import read_output, written

PAUSE = {"answer": "goes on", "profile": "binpack", "held": "9d02aa71", "activeSince": None}


def kinds() -> list[str]:
    """Of the schema."""
    whole = schema()
    found = [one for each in whole["oneOf"] for one in each.get("oneOf", [each])]
    names = (one["$ref"].rpartition("/")[2] for one in found)
    return [whole["$defs"][name]["properties"]["kind"]["const"] for name in names]


def test_every_kind_has_a_command_and_names() -> None:
    """And no more than these."""
    assert set(kinds()) == set(COMMANDS) == set(NAMES)


def test_every_command_with_documents_writes_a_kind() -> None:
    """Those that take ``-o json``."""
    commands: Any = typer.main.get_command(app)
    formats = {
        name
        for name, one in commands.commands.items()
        if any("-o" in p.opts and p.help.startswith("json or yaml") for p in one.params)
    }
    assert {command.partition(" ")[0] for command in COMMANDS.values()} == formats


@pytest.mark.parametrize(
    "change",
    [{"more": 1}, {"held": 1}, {"held": None}, {"kind": "Rollback"}],
    ids=["a field that is not described", "another type", "null", "another kind"],
)
def test_what_is_not_described_is_found(change: dict[str, Any]) -> None:
    """A reader of the schema is never surprised."""
    found = written("Pause", PAUSE)
    with pytest.raises(ValidationError):
        read_output(json.dumps({**found, **change}))


def test_every_field_says_what_it_means() -> None:
    """In all parts."""
    known = ("apiVersion", "kind", "answer")
    silent = [
        f"{name}.{field}"
        for name, part in schema()["$defs"].items()
        for field, one in part["properties"].items()
        if field not in known and not one.get("description")
    ]
    assert silent == []
