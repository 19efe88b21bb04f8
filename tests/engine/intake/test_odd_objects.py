"""Custom resources as nobody meant them: what they hold harms themselves only, and status says what
is.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.engine.profiles.profile_status import (
    RETRY_INTERVAL_SECONDS,
    ROUND_INTERVAL_SECONDS,
    WRITE_INTERVAL_SECONDS,
)
from moorage.ports.errors import Forbidden, Invalid, Retryable
from moorage.ports.kube import StoredRevision
from moorage.ports.texts import MAX_NAME_CHARACTERS
from tests.builders import make_pod
from tests.engine.worlds import RESOLVER, a_body, a_config, make_engine, versioned
from tests.examples import few
from tests.fakes.clocks import EagerClock
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import FakeEventRecorder

KEYS = (
    "name",
    "schedulerName",
    "controllerName",
    "preset",
    "plugins",
    "score",
    "enabled",
    "weights",
    "pluginConfig",
    "configRef",
    "args",
    "suspend",
    "rollout",
    "plugin",
    "claimedBy",
    "conditions",
    "type",
    "leader",
    "queue",
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(("", "a", "NodeResourcesFit", "../x", "ü"))
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=20,
)


@few(50)
@given(once_good=st.booleans(), spec=JSON, status=JSON, config_spec=JSON, config_status=JSON)
def test_nonsense_is_told_in_status_and_good_profiles_decide(
    once_good: bool, spec: Any, status: Any, config_spec: Any, config_status: Any
) -> None:
    """Nothing raises, whatever spec and status hold; another profile is live all the same."""
    kube = InMemoryKube()
    engine = make_engine(kube, FakeEventRecorder())
    if once_good:
        engine.profile_changed("odd", a_body("odd"))
        asyncio.run(engine.swapper.reconcile())
    odd = {**a_body("odd", generation=2), "spec": spec, "status": status}
    engine.profile_changed("odd", odd)
    engine.plugin_config_changed(
        "odd", {**a_config("odd"), "spec": config_spec, "status": config_status}
    )
    engine.profile_changed("good", a_body("good"))
    asyncio.run(engine.swapper.reconcile())
    asyncio.run(engine.profile_status.write_due())
    assert "good" in engine.live
    if "odd" in engine.records.profiles:
        accepted = kube.statuses["SchedulerProfile", "odd"]["conditions"][0]
        assert accepted["type"] == "Accepted"
    assert kube.statuses["PluginConfig", "odd"]["conditions"][0]["type"] == "Accepted"
    engine.profile_changed("odd", None)
    engine.plugin_config_changed("odd", None)
    asyncio.run(engine.swapper.reconcile())
    assert list(engine.live) == ["good"]


def test_a_status_that_is_refused_is_tried_again_seldom() -> None:
    """The API server may refuse every write of an object that its present schema would not have let
    in.
    """
    engine = make_engine(kube := InMemoryKube(), FakeEventRecorder(), clock := EagerClock())
    for name in ("odd", "good"):
        engine.profile_changed(name, a_body(name))
    asyncio.run(engine.swapper.reconcile())
    kube.fail("profile_status", Invalid("PATCH status", 422), times=2)
    began = clock.boottime()
    while ("SchedulerProfile", "odd") not in kube.statuses:
        asyncio.run(engine.profile_status.write_due())
        clock.jump(ROUND_INTERVAL_SECONDS)
    assert clock.boottime() - began == pytest.approx(
        RETRY_INTERVAL_SECONDS, abs=2 * ROUND_INTERVAL_SECONDS
    )
    assert len([write for write in kube.written if write.method == "profile_status"]) == 2


def test_another_object_of_the_same_name_gets_its_own_status() -> None:
    """Also when it says the same as the one that was deleted."""
    kube = InMemoryKube()
    engine = make_engine(kube, FakeEventRecorder())
    for uid in ("one", "two"):
        engine.plugin_config_changed("config", a_config("config", uid=uid))
        asyncio.run(engine.swapper.reconcile())
        asyncio.run(engine.profile_status.write_due())
        assert kube.statuses.pop(("PluginConfig", "config"))


def test_status_is_about_what_was_settled() -> None:
    """A change that is not settled yet is not called accepted."""
    kube = InMemoryKube()
    engine = make_engine(kube, FakeEventRecorder())
    engine.profile_changed("p", a_body("p"))
    asyncio.run(engine.profile_status.write_due())
    assert kube.statuses == {}
    asyncio.run(engine.swapper.reconcile())
    engine.profile_changed("p", a_body("p", generation=2, preset="Best", suspend=True))
    asyncio.run(engine.profile_status.write_due())
    status = kube.statuses["SchedulerProfile", "p"]
    assert status["observedGeneration"] == 1
    assert {condition["observedGeneration"] for condition in status["conditions"]} == {1}
    assert status["conditions"][-1]["status"] == "True"
    assert status["desiredRevision"] == status["activeRevision"]


def test_a_bad_spec_that_suspends_suspends() -> None:
    """Its status says so, and so it is: the last good revision goes on only where nothing asks for
    a halt.
    """
    engine = make_engine(kube := InMemoryKube(), FakeEventRecorder(), clock := EagerClock())
    engine.profile_changed("p", a_body("p"))
    asyncio.run(engine.swapper.reconcile())
    for generation, suspend, reason in ((2, True, "Suspended"), (3, False, "LastGood")):
        engine.profile_changed(
            "p", a_body("p", generation=generation, preset="Best", suspend=suspend)
        )
        asyncio.run(engine.swapper.reconcile())
        clock.jump(WRITE_INTERVAL_SECONDS)
        asyncio.run(engine.profile_status.write_due())
        active = kube.statuses["SchedulerProfile", "p"]["conditions"][3]
        assert (active["type"], active["reason"]) == ("Active", reason)
        engine.pod_sink.put(versioned(make_pod(f"p{generation}", scheduler_name="p")))
        assert engine.queue.counts("p").unserved == int(suspend)


def test_a_revision_that_cannot_be_stored_says_why_it_waits() -> None:
    """Nothing is swapped in that a restart would not find."""
    engine = make_engine(kube := InMemoryKube(), FakeEventRecorder())
    kube.fail(
        "create_revision", Forbidden("POST controllerrevisions", 403, "Forbidden", "not yours")
    )
    engine.profile_changed("p", a_body("p"))
    assert not asyncio.run(engine.swapper.reconcile())
    asyncio.run(engine.profile_status.write_due())
    active = kube.statuses["SchedulerProfile", "p"]["conditions"][3]
    assert (active["status"], active["reason"]) == ("False", "Waiting")
    assert "not yours" in active["message"]
    assert asyncio.run(engine.swapper.reconcile())
    assert "p" in engine.live


def test_the_longest_name_can_be_stored() -> None:
    """A revision's name is a profile's and more, and may be no longer."""
    engine = make_engine(kube := InMemoryKube(), FakeEventRecorder())
    for end in "ab":
        engine.profile_changed("p" * 252 + end, a_body("p" * 252 + end, schedulerName=end))
    assert asyncio.run(engine.swapper.reconcile())
    assert len(kube.stored) == 2
    assert all(len(name) <= MAX_NAME_CHARACTERS for name in kube.stored)


REFERRING = a_body("p", pluginConfig=[{"name": "NodeResourcesFit", "configRef": {"name": "c"}}])


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"profile": 1, "pluginConfigs": {}},
        {"profile": {}, "pluginConfigs": [1]},
        {"profile": REFERRING, "pluginConfigs": {"c": "x"}},
    ],
    ids=["empty", "no profile", "no map", "no PluginConfig"],
)
def test_a_stored_revision_that_somebody_spoilt_is_passed_over(data: dict[str, Any]) -> None:
    """The next older one that can be read is taken up."""
    engine = make_engine(kube := InMemoryKube(), FakeEventRecorder())
    good = RESOLVER(a_body("p"), {})
    stored = [
        StoredRevision("p-1", "p", 1, {**good.document, "uid": "uid-p"}),
        StoredRevision("p-2", "p", 2, {**data, "uid": "uid-p"}),
    ]
    kube.stored = {revision.name: revision for revision in stored}
    asyncio.run(engine.restore())
    engine.profile_changed("p", a_body("p", generation=2, preset="Best"))
    asyncio.run(engine.swapper.reconcile())
    assert engine.live["p"].id == good.id


def test_a_stored_revision_that_cannot_be_read_now_is_read_again() -> None:
    """The profile says so meanwhile; the next settling takes it up."""
    engine = make_engine(kube := InMemoryKube(), FakeEventRecorder())
    good = RESOLVER(a_body("p"), {})
    kube.stored["p-1"] = StoredRevision("p-1", "p", 1, {**good.document, "uid": "uid-p"})
    asyncio.run(engine.restore())
    kube.fail("revision", Retryable("503"))
    engine.profile_changed("p", a_body("p", generation=2, preset="Best"))
    assert not asyncio.run(engine.swapper.reconcile())
    assert "503" in engine.records.profiles["p"].lost
    assert not engine.live
    assert asyncio.run(engine.swapper.reconcile())
    assert engine.live["p"].id == good.id
    assert not engine.records.profiles["p"].lost


def test_stored_revisions_of_no_use_are_read_once_for_each_generation() -> None:
    """Many profiles that settle again and again must not ask the API server each time."""
    engine = make_engine(kube := InMemoryKube(), FakeEventRecorder())
    good = RESOLVER(a_body("p"), {})
    kube.stored["p-1"] = StoredRevision("p-1", "p", 1, {"uid": "uid-p"})
    asyncio.run(engine.restore())
    for generation, data, taken in (
        (2, {"profile": 1}, False),
        (2, good.document, False),
        (3, good.document, True),
    ):
        kube.stored["p-1"] = StoredRevision("p-1", "p", 1, {**data, "uid": "uid-p"})
        engine.profile_changed("p", a_body("p", generation=generation, preset="Best"))
        assert asyncio.run(engine.swapper.reconcile())
        assert ("p" in engine.live) is taken


def test_nothing_is_kept_of_a_profile_that_is_gone() -> None:
    """Profiles that come and go for years leave nothing in memory; their stored revisions go with
    their owner.
    """
    engine = make_engine(InMemoryKube(), FakeEventRecorder())
    engine.profile_changed("p", a_body("p"))
    asyncio.run(engine.swapper.reconcile())
    assert list(engine.swapper.stored.known) == ["uid-p"]
    for body in (a_body("p", uid="another"), None):
        engine.profile_changed("p", body)
        asyncio.run(engine.swapper.reconcile())
        assert "uid-p" not in engine.swapper.stored.known
    assert not engine.swapper.stored.known


def test_a_standby_forgets_superseded_revisions() -> None:
    """It binds nothing and writes no status, so the clock alone makes it look."""
    engine = make_engine(InMemoryKube(), FakeEventRecorder())
    engine.live.leading = False
    for generation in range(1, 4):
        engine.profile_changed(
            "p", a_body("p", generation=generation, podMaxBackoffSeconds=9 + generation)
        )
        asyncio.run(engine.swapper.reconcile())
    engine.swapper.tick(0)
    assert engine.records.profiles["p"].superseded == []
