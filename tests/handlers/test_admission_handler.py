"""Reviews, answered by Kopf itself: what is refused and warned of, and whose fault is whose."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from moorage.api.bodies import Body
from moorage.core.framework.revisions import FieldError
from moorage.engine.profiles.admission import AdmissionVerdict, Kind
from moorage.handlers.admission_handler import Admission, Answer, ReviewDoor
from moorage.ports.errors import MainLoopBusy
from moorage.ports.requesters import Denied
from tests.handlers.fake_api import FakeApi
from tests.handlers.test_kopf_operator import RecordingReceiver, eventually, kopf_on

PROFILE = {
    "apiVersion": "moorage.dev/v1alpha1",
    "kind": "SchedulerProfile",
    "metadata": {"name": "new", "uid": "u", "managedFields": [{"manager": "kubectl"}]},
    "spec": {"preset": "Spread"},
    "status": {"conditions": []},
}


class Judge:
    """Says what a test wants said, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Kind, Body, Body | None]] = []
        self.verdict = AdmissionVerdict()
        self.fault: BaseException | None = None

    def __call__(self, kind: Kind, new: Body, old: Body | None) -> AdmissionVerdict:
        """As set."""
        self.asked.append((kind, new, old))
        if self.fault is not None:
            raise self.fault
        return self.verdict


def review(
    new: Mapping[str, Any] | None = PROFILE,
    old: Mapping[str, Any] | None = None,
    plural: str = "schedulerprofiles",
) -> bytes:
    """As the API server sends it."""
    asked = {
        "uid": "review-1",
        "kind": {"group": "moorage.dev", "version": "v1alpha1", "kind": "any"},
        "resource": {"group": "moorage.dev", "version": "v1alpha1", "resource": plural},
        "operation": "CREATE" if old is None else "UPDATE",
        "userInfo": {"username": "anna"},
        "object": new,
        "oldObject": old,
        "dryRun": True,
    }
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    ).encode()


async def at_once(answer: Answer) -> dict[str, Any]:
    """All on one loop."""
    return await answer()


@contextlib.asynccontextmanager
async def admission(judge: Judge) -> AsyncIterator[ReviewDoor]:
    """Kopf at work, which has found both kinds."""
    door, engine = ReviewDoor(at_once), RecordingReceiver()
    async with kopf_on(FakeApi(), engine, admission=Admission(judge, door)):
        await eventually(lambda: door.open)
        yield door


def run(scenario: Callable[[ReviewDoor, Judge], Any]) -> Judge:
    """With a judge that has nothing to say."""
    judge = Judge()

    async def main() -> None:
        async with admission(judge) as door:
            await scenario(door, judge)

    asyncio.run(main())
    return judge


async def answered(door: ReviewDoor, body: bytes) -> dict[str, Any]:
    """The answer to this review."""
    answer = json.loads(await door.review(body))
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert answer["response"].pop("uid") == "review-1"
    return dict(answer["response"])


def test_what_is_wrong_is_told_with_its_path(caplog: pytest.LogCaptureFixture) -> None:
    """All of it, with code 422; to who asked, not to the log."""

    async def scenario(door: ReviewDoor, judge: Judge) -> None:
        faults = FieldError("preset", "Sprad", "unknown"), FieldError("weights.X", 0, "too small")
        judge.verdict = AdmissionVerdict(faults, ("spec.pluginConfig[0]: none",))
        assert await answered(door, review()) == {
            "allowed": False,
            "warnings": ["spec.pluginConfig[0]: none"],
            "status": {
                "code": 422,
                "message": "spec.preset: 'Sprad': unknown; spec.weights.X: 0: too small",
            },
        }

    run(scenario)
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]


def test_what_the_judge_is_given() -> None:
    """Both kinds, and whether the object is new: no more of it than a judgement needs."""

    async def scenario(door: ReviewDoor, judge: Judge) -> None:
        judge.verdict = AdmissionVerdict((), ("think of it",))
        assert await answered(door, review()) == {"allowed": True, "warnings": ["think of it"]}
        config = {**PROFILE, "kind": "PluginConfig", "spec": {"plugin": "NodeName"}}
        await answered(door, review(config, PROFILE, "pluginconfigs"))

    named = {"apiVersion": "moorage.dev/v1alpha1", "metadata": {"name": "new"}}
    profile = {**named, "kind": "SchedulerProfile", "spec": {"preset": "Spread"}}
    config = {**named, "kind": "PluginConfig", "spec": {"plugin": "NodeName"}}
    assert run(scenario).asked == [
        ("SchedulerProfile", profile, None),
        ("PluginConfig", config, {"metadata": {"name": "new"}}),
    ]


def test_a_fault_of_ours_is_no_verdict(caplog: pytest.LogCaptureFixture) -> None:
    """The API server's failurePolicy decides then; the log has it once, and the next review is
    answered.
    """

    async def scenario(door: ReviewDoor, judge: Judge) -> None:
        judge.fault = ZeroDivisionError("no")
        for _ in range(2):
            with pytest.raises(Denied, match="its log says why") as denied:
                await door.review(review())
            assert denied.value.status == 500
        judge.fault = None
        assert await answered(door, review()) == {"allowed": True}

    run(scenario)
    told = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert {one.getMessage() for one in told} == {"judging an object failed with a bug"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"request": 3}',
        b"[" * 100_000,
        review(None),
        review({"metadata": []}),
        review().replace(b"userInfo", b"someone"),
    ],
    ids=["nothing", "list", "number", "deep", "deleted", "nameless", "from nobody"],
)
def test_what_is_no_review_is_said_to_be_none(body: bytes) -> None:
    """400; Kopf goes on."""

    async def scenario(door: ReviewDoor, judge: Judge) -> None:
        with pytest.raises(Denied, match="no AdmissionReview") as denied:
            await door.review(body)
        assert denied.value.status == 400
        assert await answered(door, review()) == {"allowed": True}
        assert len(judge.asked) == 1

    run(scenario)


def test_kinds_that_kopf_does_not_know_end_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """As while the CRDs are made anew."""

    async def scenario(door: ReviewDoor, judge: Judge) -> None:
        with pytest.raises(Denied) as denied:
            await door.review(review(plural="gadgets"))
        assert denied.value.status == 500
        assert await answered(door, review()) == {"allowed": True}

    run(scenario)
    assert "answering an admission review failed with a bug" in caplog.text


def test_an_object_that_is_nested_deep_is_judged() -> None:
    """As deep as the API server takes it: what is too deep is for the judge to say."""
    spec = '{"preset": "Spread", "deep": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}"
    whole = review({**PROFILE, "spec": "HERE"}, {**PROFILE, "spec": "HERE"})
    body = whole.replace(b'"HERE"', spec.encode())

    async def scenario(door: ReviewDoor, judge: Judge) -> None:
        assert await answered(door, body) == {"allowed": True}

    (asked,) = run(scenario).asked
    assert asked[1]["spec"]["preset"] == "Spread"


def test_nobody_is_answered_before_kopf_has_begun() -> None:
    """503; and where the main loop is too busy, that is said."""

    async def busy(answer: Answer) -> dict[str, Any]:
        raise MainLoopBusy("busy")

    async def scenario() -> None:
        door = ReviewDoor(busy)
        with pytest.raises(Denied) as denied:
            await door.review(review())
        assert denied.value.status == 503
        async with kopf_on(FakeApi(), RecordingReceiver(), admission=Admission(Judge(), door)):
            await eventually(lambda: door.open)
            with pytest.raises(MainLoopBusy):
                await door.review(review())

    asyncio.run(scenario())


def test_kopf_keeps_nothing_of_who_is_reviewed() -> None:
    """Else whoever reaches the port could fill its memory with objects that nobody has."""

    async def scenario(door: ReviewDoor, judge: Judge) -> None:
        for number in range(50):
            one = {**PROFILE, "metadata": {"name": f"n{number}", "uid": f"u{number}"}}
            await answered(door, review(one, one))
        kopfs: Any = door._kopf
        assert len(kopfs.keywords["memories"]._items) <= 1

    run(scenario)
