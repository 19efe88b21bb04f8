"""What is asked: conversations and their steps, read from `catalogue/*.yaml` and made for each kind
of `kinds.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

HERE: Final = Path(__file__).parent


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of `ask` (a method and a path), `kubectl` (its arguments), `watch` (a path) and `events`
    (the name of a watch step).
    """

    name: str
    ask: str = ""
    body: Any = None
    text: str | None = None
    """A body as it stands, `repeat` times; for what is no JSON."""
    repeat: int = 1
    type: str = "application/json"
    headers: dict[str, str] = {}
    kubectl: str | list[str] = ""
    stdin: str | dict[str, Any] = ""
    editor: str = ""
    """What `kubectl edit` runs."""
    watch: str = ""
    events: str = ""
    count: int = 0
    """How many events to collect; 0 stands for all until the server ends the watch."""
    until: str = ""
    """Ask again, for seconds, until code and text of the answer contain this; for what a server
    does a little later.
    """
    compare: Literal["all", "shape", "code"] = "all"
    """`shape` leaves out values, `code` everything but the code."""
    because: str = ""
    """Why not all is compared."""

    def __post_init__(self) -> None:
        """Raises ValueError for a step that is not exactly one thing, or hides without a reason."""
        if sum(map(bool, (self.ask, self.kubectl, self.watch, self.events))) != 1:
            raise ValueError(f"{self.name}: one of ask, kubectl, watch, events")
        if (self.compare != "all") != bool(self.because):
            raise ValueError(f"{self.name}: compare and because go together")


class Conversation(msgspec.Struct, frozen=True):
    """Steps in the order in which they are played, in a namespace named like the conversation."""

    name: str
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        """Raises ValueError when two steps have one name."""
        names = [step.name for step in self.steps]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"{self.name}: two steps are called {', '.join(sorted(twice))}")


def conversations() -> tuple[Conversation, ...]:
    """All, by file and in the files' order."""
    found = [
        conversation
        for file in sorted((HERE / "catalogue").glob("*.yaml"))
        for conversation in _read(file)
    ]
    return (*found, *_of_kinds())


def _read(file: Path) -> Iterator[Conversation]:
    for name, steps in msgspec.yaml.decode(
        file.read_bytes(), type=dict[str, tuple[Step, ...]]
    ).items():
        yield Conversation(name, steps)


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A served kind: where, and the least that one can be. `name` is the object's where the body
    has no other.
    """

    path: str
    body: dict[str, Any]
    named: str = "one"
    update: dict[str, Any] = msgspec.field(
        default_factory=lambda: {"metadata": {"labels": {"a": "b"}}}
    )
    """A merge patch that every server accepts."""
    settled: str = ""
    """What to wait for before the first look, of a kind that a server completes after its
    creation.
    """
    gone: str = ""
    """What to wait for after the deletion."""


def _of_kinds() -> Iterator[Conversation]:
    """What can be done with every kind: one conversation each."""
    for name, kind in msgspec.yaml.decode(
        (HERE / "kinds.yaml").read_bytes(), type=dict[str, Kind]
    ).items():
        metadata = kind.body.get("metadata", {})
        named = kind.body | {
            "metadata": {"name": kind.named, "labels": {"conversation": "${ns}"}} | metadata
        }
        one, mine = f"{kind.path}/{named['metadata']['name']}", "labelSelector=conversation%3D${ns}"
        table = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
        yield Conversation(
            f"kind-{name}",
            (
                Step(name="create", ask=f"POST {kind.path}", body=named),
                Step(name="create-again", ask=f"POST {kind.path}", body=named),
                Step(name="get", ask=f"GET {one}", until=kind.settled),
                Step(name="list", ask=f"GET {kind.path}?{mine}"),
                Step(name="table", ask=f"GET {kind.path}?{mine}", headers=table),
                Step(
                    name="patch",
                    ask=f"PATCH {one}",
                    type="application/merge-patch+json",
                    body=kind.update,
                ),
                Step(
                    name="bad-label",
                    ask=f"PATCH {one}",
                    type="application/merge-patch+json",
                    body={"metadata": {"labels": {"-": "b"}}},
                ),
                Step(name="delete", ask=f"DELETE {one}?gracePeriodSeconds=0"),
                Step(name="get-deleted", ask=f"GET {one}", until=kind.gone),
            ),
        )


_REFERENCE: Final = re.compile(r"\$\{([^}]+)\}")


def filled(value: Any, answers: Mapping[str, Any]) -> Any:
    """`value` with each `${step.field.0.field}` replaced by what that step was answered. Raises
    LookupError for what is not there.
    """
    match value:
        case str():
            if whole := _REFERENCE.fullmatch(value):
                return _looked_up(whole[1], answers)
            return _REFERENCE.sub(lambda found: str(_looked_up(found[1], answers)), value)
        case dict():
            return {filled(key, answers): filled(item, answers) for key, item in value.items()}
        case list():
            return [filled(item, answers) for item in value]
    return value


def _looked_up(path: str, answers: Mapping[str, Any]) -> Any:
    value: Any = answers
    for part in path.split("."):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (LookupError, TypeError, ValueError) as error:
            raise LookupError(f"{path}: no {part} there") from error
    return value
