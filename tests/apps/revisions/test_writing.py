"""Writing a profile back, and waiting for what comes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from moorage.apps.exit_status import CommandError, NoAnswer
from moorage.apps.revisions import writing
from moorage.apps.revisions.rollback import NotReached
from moorage.apps.worlds.reaching import Connection
from moorage.ports.errors import Conflict, EdgeError, Forbidden, Invalid, NotFound, Retryable
from moorage.ports.http_calls import HttpCall

BODY = {
    "metadata": {"name": "p", "resourceVersion": "7", "managedFields": [{"manager": "x"}]},
    "spec": {"preset": "BinPack"},
}


class ScriptedSession:
    """Answers one after another; the last one again and again."""

    def __init__(self, *answers: dict[str, Any] | EdgeError) -> None:
        self._answers = list(answers)
        self.calls: list[HttpCall] = []

    async def call(self, call: HttpCall) -> bytes:
        """As scripted."""
        self.calls.append(call)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, EdgeError):
            raise answer
        return json.dumps(answer).encode()


def run(session: ScriptedSession, deed: Callable[[Connection], Coroutine[Any, Any, Any]]) -> Any:
    """What comes of it."""
    return asyncio.run(deed(Connection(cast("Any", session), "here", "")))


def test_the_object_is_replaced_at_its_version() -> None:
    """Without what the API server keeps of its managers, so that it keeps that."""
    session = ScriptedSession({"metadata": {"generation": 4}})
    assert run(session, lambda connection: writing.replace(connection, BODY)) == 4
    (call,) = session.calls
    assert (call.method, call.path) == (
        "PUT",
        "/apis/moorage.dev/v1alpha1/schedulerprofiles/p?fieldManager=moorage-rollback",
    )
    assert json.loads(call.body or b"") == {
        "metadata": {"name": "p", "resourceVersion": "7"},
        "spec": {"preset": "BinPack"},
    }
    run(session, lambda connection: writing.replace(connection, BODY, dry_run=True))
    assert session.calls[-1].path.endswith("&dryRun=All")


FAILURES: dict[str, tuple[EdgeError, type[CommandError], str]] = {
    "changed meanwhile": (Conflict("PUT", 409), NotReached, "changed meanwhile"),
    "gone": (NotFound("PUT", 404), NotReached, "changed meanwhile"),
    "refused": (Invalid("PUT", 422, "", "spec.preset"), NotReached, "spec.preset"),
    "no right": (Forbidden("PUT", 403, "", "cannot update"), NoAnswer, "cannot update"),
    "no answer": (Retryable("reset"), NoAnswer, "may have been written or not"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_what_was_not_written(case: str) -> None:
    """Whether that is an answer, or none."""
    error, kind, text = FAILURES[case]
    with pytest.raises(kind, match=text):
        run(ScriptedSession(error), lambda connection: writing.replace(connection, BODY))


def status(observed: int = 2, active: str = "aa", **conditions: str) -> dict[str, Any]:
    """The profile as its operator sees it; ``conditions`` by type."""
    listed = [
        {"type": kind, "status": value, "reason": "Because", "message": "of that"}
        for kind, value in conditions.items()
    ]
    found = {
        "observedGeneration": observed,
        "desiredRevision": "aa",
        "activeRevision": active,
        "conditions": listed,
    }
    return {"metadata": {"name": "p"}, "spec": {}, "status": found}


def test_it_waits_until_the_profile_decides() -> None:
    """Not for what was true of the generation before."""
    session = ScriptedSession(
        status(1, Active="True"), status(2, "bb", Active="False"), status(2, Active="True")
    )
    found = run(session, lambda connection: writing.settled(connection, "p", 2))
    assert (found.active, len(session.calls)) == ("aa", 3)


def test_a_pause_is_reached_as_soon_as_it_is_seen() -> None:
    """Whatever the spec stands for."""
    paused = {**status(2, "bb", Active="False"), "spec": {"paused": True}}
    found = run(ScriptedSession(paused), lambda connection: writing.settled(connection, "p", 2))
    assert found.active == "bb"


LATE = {
    "nobody looks": (status(1), "no operator has looked at it"),
    "it waits": (status(2, "bb", Active="False"), "it waits: Because: of that"),
    "refused": (status(2, Accepted="False"), "p is refused: of that"),
}


@pytest.mark.parametrize("case", LATE)
def test_what_it_waits_for_is_said(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When time is up; at once where waiting is no use."""
    seen, text = LATE[case]
    if case != "refused":
        monkeypatch.setattr(writing, "WAIT_SECONDS", 0.0)
    with pytest.raises(NotReached, match=text):
        run(ScriptedSession(seen), lambda connection: writing.settled(connection, "p", 2))
