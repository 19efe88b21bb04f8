"""Comparing two servers' answers: what must differ is masked, the rest is told path by path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from tests.conformance.conversations import Conversation
from tests.conformance.playing import Record

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_DATE: Final = re.compile(r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000")
_UID: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TEXTS: Final = (
    (re.compile(r"https://127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"\b127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "<address>"),
    (re.compile(r"(?i)(resource ?version[^0-9]{1,20}|current: |\()\d+"), r"\1<version>"),
    (re.compile(r"\b\d+[smh](\d+[ms])? ago"), "<age> ago"),
    (re.compile(r"(?<!\S)(\d+[smh](\d+[ms])?|<invalid>)(?!\S) *"), "<age> "),
    (re.compile(r"/\S*/(kubectl-edit-|LIVE-|MERGED-)\S*?(?=[/ ]|$)"), r"<temporary \1>"),
    (re.compile(r"\.[0-9a-f]{16}\b"), ".<event>"),
    (re.compile(r"X509SHA256=[0-9a-f]{64}"), "X509SHA256=<hash>"),
    (_DATE, "<date>"),
)
_OPAQUE: Final = frozenset({"continue", "token", "nodePort", "healthCheckNodePort"})


_NOTHING: Final = "nothing"


class Difference(msgspec.Struct, frozen=True):
    """Where two answers differ: `step` is conversation/step, `path` a place in the record."""

    step: str
    path: str
    real: str
    ours: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.step}: {self.path}: {self.real} there, {self.ours} here"


def differences(
    conversation: Conversation, real: Mapping[str, Record], ours: Mapping[str, Record]
) -> list[Difference]:
    """All, step by step. Of answers with different codes only these are told: everything else would
    differ too.
    """
    there, here, found = _Masks(), _Masks(), []
    for step in conversation.steps:
        full = f"{conversation.name}/{step.name}"
        one, other = there.record(real[step.name]), here.record(ours[step.name])
        if one["code"] != other["code"]:
            found.append(Difference(full, "code", _short(one), _short(other)))
        elif step.compare != "code":
            found += [
                Difference(full, *place)
                for place in _places(
                    dict(_flat(one)), dict(_flat(other)), values=step.compare == "all"
                )
            ]
    return found


def _places(
    one: Mapping[str, str], other: Mapping[str, str], *, values: bool
) -> Iterator[tuple[str, str, str]]:
    for path in sorted(one.keys() | other.keys()):
        left, right = one.get(path, _NOTHING), other.get(path, _NOTHING)
        if left != right and (values or not path.startswith("body") or _NOTHING in (left, right)):
            yield path, left, right


def _short(record: Mapping[str, Any]) -> str:
    """The code, and what was said."""
    body = record["body"]
    said = body.get("message") or body.get("stderr") or "" if isinstance(body, dict) else body
    return f"{record['code']} {said}".strip()


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _flat(item, f"{path}[{index}]")
    else:
        yield path, repr(value)


def _ordered(body: Any) -> Any:
    """A Status with its causes in order: custom resources' come as Go's maps have them, and some
    come several times.
    """
    causes = (
        body.get("details", {}).get("causes")
        if isinstance(body, dict) and body.get("kind") == "Status"
        else None
    )
    if not causes:
        return body
    told, invalid, list_of_texts = body["message"].partition("is invalid: ")
    texts = ", ".join(sorted(list_of_texts.strip("[]").split(", ")))
    once = [dict(cause) for cause in sorted({tuple(sorted(cause.items())) for cause in causes})]
    return body | {
        "message": f"{told}{invalid}{texts}",
        "details": body["details"] | {"causes": once},
    }


def _managed_by(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Who wrote these fields. The servers order entries by the second of their last write, so two
    writers change places when a second ends between them.
    """
    return tuple(
        str(entry.get(key, "")) for key in ("operation", "manager", "subresource", "apiVersion")
    )


class _Masks:
    """One server's words for one conversation: generated names, and which UIDs and versions were
    seen before.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._uids: set[str] = set()
        self._versions: set[tuple[str, str]] = set()
        self._today: Final = datetime.now(UTC)

    def record(self, record: Record) -> dict[str, Any]:
        """What is compared."""
        self._learn(record.body)
        parts = {
            "code": record.code,
            "type": record.content_type,
            "warnings": list(record.warnings),
            "body": _ordered(record.body),
        }
        return {key: self._masked(value) for key, value in parts.items()}

    def _learn(self, value: Any) -> None:
        """Find generated names, before they are met elsewhere."""
        if isinstance(value, list):
            for item in value:
                self._learn(item)
        elif isinstance(value, dict):
            name, prefix = value.get("name"), value.get("generateName")
            if (
                isinstance(name, str)
                and isinstance(prefix, str)
                and prefix
                and name.startswith(prefix)
            ):
                self._names[name] = f"{prefix}<suffix>"
            for item in value.values():
                self._learn(item)

    def _masked(self, value: Any, owner: str = "") -> Any:
        match value:
            case dict():
                owner = str(value.get("uid") or owner)
                return {
                    self._text(key): self._field(key, item, owner)
                    for key, item in sorted(value.items())
                }
            case list():
                return [self._masked(item, owner) for item in value]
            case str():
                return self._text(value)
        return value

    def _field(self, key: str, value: Any, owner: str) -> Any:
        if key == "resourceVersion" and isinstance(value, str) and value:
            return self._version(owner, value)
        if key in _OPAQUE and value:
            return f"<{key}>"
        if key == "managedFields" and isinstance(value, list):
            value = sorted(value, key=_managed_by)
        return self._masked(value, owner)

    def _version(self, owner: str, value: str) -> str:
        """Numbers differ; whether an object has a version that it had before does not. Of lists
        nothing can be said.
        """
        if not owner:
            return "<version>"
        seen = (owner, value) in self._versions
        self._versions.add((owner, value))
        return "<version seen>" if seen else "<version new>"

    def _text(self, text: str) -> str:
        text = _UID.sub(self._uid, text)
        text = _TIME.sub(self._time, text)
        for name, mask in self._names.items():
            text = text.replace(name, mask)
        for pattern, mask in _TEXTS:
            text = pattern.sub(mask, text)
        return text

    def _uid(self, found: re.Match[str]) -> str:
        seen = found[0] in self._uids
        self._uids.add(found[0])
        return "<uid seen>" if seen else "<uid new>"

    def _time(self, found: re.Match[str]) -> str:
        """Only what was just now: a time that the client wrote stays."""
        when = datetime.fromisoformat(found[0])
        return (
            f"<time{' in parts' if found[1] else ''}>"
            if abs(when - self._today) < timedelta(days=2)
            else found[0]
        )
