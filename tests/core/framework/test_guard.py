"""Plugins from outside the tree: whatever they raise or answer becomes a fault that names them, and
harms nobody else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Store
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
)
from moorage.core.framework.guard import PluginFault, guarded
from moorage.core.framework.interfaces import (
    FallibleFilterPlugin,
    FeasibleScorePlugin,
    FilterPlugin,
    NodeScores,
    Plugin,
    PreFilterResult,
    PreScorePlugin,
    ReserveResult,
    ScoreExtensions,
    ScorePlugin,
)
from moorage.core.framework.placement_contract import Placement, Proposal
from moorage.core.framework.post_filter_contract import FailedAttempt, PostFilterResult
from moorage.core.framework.registry import PluginSpec
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, Status, rejected
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pod_groups import API, GroupKey
from tests.builders import make_node, make_pod
from tests.fakes.guards import RecordingGuard

POD = make_pod("p")
NO = Reason("No", "no", Code.UNSCHEDULABLE)
ZEROS = np.zeros(2, np.int64)
FAIL = "fail"


def snapshot() -> Snapshot:
    """Two nodes."""
    cache = Cache()
    for name in ("n1", "n2"):
        cache.put_node(make_node(name))
    return Snapshot(cache)


SNAPSHOT = snapshot()
ROWS = slice(0, 2)
ATTEMPT = FailedAttempt(SNAPSHOT, ZEROS, cast("Any", None), cast("Any", None), 1)

GROUP = GroupSpec(GroupKey(API, "default", "g"), 1, 0)
PROPOSAL = Proposal(Placement(), 0, [(POD, "n1")])
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "pre_enqueue": (POD, Store()),
    "sign_pod": (POD, SNAPSHOT),
    "sign_depends_on": (POD, SNAPSHOT),
    "pre_filter": (POD, SNAPSHOT),
    "filter": (POD, SNAPSHOT, ROWS),
    "explain": (POD, 1),
    "adjust": (POD, POD, 0, 1, SNAPSHOT),
    "depends_on": (SNAPSHOT,),
    "post_filter": (POD, ATTEMPT),
    "pre_score": (POD, SNAPSHOT),
    "prepare_score": (POD, SNAPSHOT),
    "score": (POD, SNAPSHOT, ROWS),
    "normalize_score": (POD, ZEROS),
    "score_feasible": (POD, np.arange(2)),
    "reserve": (POD, "n1", SNAPSHOT),
    "score_placements": (GROUP, [PROPOSAL, PROPOSAL], SNAPSHOT),
}
GOOD: dict[str, Any] = {
    "pre_enqueue": SUCCESS,
    "sign_pod": b"",
    "sign_depends_on": None,
    "pre_filter": PreFilterResult(SKIP, node_names=frozenset({"n1"})),
    "filter": ZEROS,
    "explain": ((NO, ""),),
    "adjust": POD,
    "depends_on": (SNAPSHOT.store.version_counter(Any),),  # type: ignore[arg-type]
    "post_filter": PostFilterResult(SUCCESS, "n1", (POD,)),
    "pre_score": PreFilterResult(SUCCESS),
    "prepare_score": PreFilterResult(SUCCESS),
    "score": np.array([-5, 500]),
    "normalize_score": np.array([0, 100], np.int32),
    "score_feasible": NodeScores(np.array([-5, 500]), np.array([0, 100])),
    "reserve": ReserveResult(rejected(NO)),
    "score_placements": np.array([0, 100]),
}


def strange(method: str, answer: Any, **more: Any) -> tuple[Any, RecordingGuard]:
    """A guarded plugin with one method, which gives this, or raises it."""

    def answering(*_: Any) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    guard = RecordingGuard()
    body = {
        "name": "Strange",
        "events_to_register": (),
        "reads": frozenset(),
        **more,
        method: answering,
    }
    return guarded(cast("type[Plugin]", type("Strange", (), body)), guard)(), guard


@pytest.mark.parametrize("method", ARGUMENTS)
def test_good_answers_pass(method: str) -> None:
    """Unchanged, between the guard's hands."""
    plugin, guard = strange(method, GOOD[method])
    assert getattr(plugin, method)(*ARGUMENTS[method]) is GOOD[method]
    assert (guard.inside, guard.recorded, len(guard.entered)) == (0, [], 2)


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), KeyError("x"), RecursionError(), MemoryError(), SystemExit(0)],
    ids=repr,
)
@pytest.mark.parametrize("method", ARGUMENTS)
def test_whatever_it_raises_is_its_fault(method: str, error: BaseException) -> None:
    """Told to the guard, with name and version; the process goes on, even where the plugin wanted
    to end it.
    """
    plugin, guard = strange(method, error)
    with pytest.raises(PluginFault) as caught:
        getattr(plugin, method)(*ARGUMENTS[method])
    assert guard.recorded == [str(caught.value)]
    assert str(caught.value).startswith('plugin "Strange" 1.0 failed at ')
    assert type(error).__name__ in str(caught.value)
    assert guard.inside == 0


STATUS = "instead of a Status"
NONSENSE: list[tuple[str, Any, str]] = [
    ("pre_enqueue", True, STATUS),
    ("pre_enqueue", Status(Code.SKIP), "the status Skip, which means nothing there"),
    (
        "pre_enqueue",
        Status(Code.UNSCHEDULABLE, cast("Any", "text")),
        "reasons that are no tuple of str: str",
    ),
    ("sign_pod", "text", "str instead of bytes"),
    ("sign_depends_on", (5,), "no tuple of clocks"),
    ("pre_filter", SUCCESS, "Status instead of a PreFilterResult"),
    ("pre_filter", PreFilterResult(cast("Any", None)), STATUS),
    (
        "pre_filter",
        PreFilterResult(SUCCESS, node_names=cast("Any", ["n1"])),
        "node_names that are no frozenset of str: list",
    ),
    ("pre_filter", PreFilterResult(SUCCESS, depends_on=cast("Any", (5,))), "no tuple of clocks"),
    ("filter", None, "None instead of an array"),
    ("filter", [0, 0], "list instead of an array"),
    ("filter", np.zeros(3, np.int64), "shape (3,) for 2 rows"),
    ("filter", np.zeros((2, 2), np.int64), "shape (2, 2) for 2 rows"),
    ("filter", np.array([0.0, np.nan]), "an array of float64"),
    ("filter", np.array([True, False]), "an array of bool"),
    ("filter", np.array([0, -1]), "the code -1"),
    ("explain", (), "instead of a tuple of (Reason, detail)"),
    ("explain", ((NO, 5),), "instead of a tuple of (Reason, detail)"),
    ("explain", ((Reason("X", "x", Code.SUCCESS), ""),), "instead of a tuple of (Reason, detail)"),
    ("explain", NO, "instead of a tuple of (Reason, detail)"),
    ("depends_on", 5, "no tuple of clocks"),
    ("post_filter", SUCCESS, "Status instead of a PostFilterResult"),
    (
        "post_filter",
        PostFilterResult(SUCCESS, "elsewhere"),
        "chose the node 'elsewhere', which there is not",
    ),
    ("post_filter", PostFilterResult(SUCCESS, None, (POD,)), "chose the node None"),
    (
        "post_filter",
        PostFilterResult(SUCCESS, "n1", cast("Any", ("p",))),
        "victims that are no tuple of Pod",
    ),
    ("pre_score", None, "None instead of a PreFilterResult"),
    ("score", np.array([np.nan, 1.0]), "an array of float64"),
    ("score", np.zeros(1, np.int64), "shape (1,) for 2 rows"),
    ("normalize_score", np.array([0, 101]), "the score 101, which is not in 0..100"),
    ("normalize_score", np.array([-1, 5]), "the score -1"),
    ("score_feasible", ZEROS, "ndarray instead of a NodeScores"),
    ("score_feasible", NodeScores(ZEROS, np.array([0, 1000])), "the score 1000"),
    ("score_placements", np.zeros(3, np.int64), "shape (3,) for 2 placements"),
    ("score_placements", np.array([0, 101]), "the score 101"),
    ("reserve", SUCCESS, "Status instead of a ReserveResult"),
    ("reserve", ReserveResult(cast("Any", "yes")), STATUS),
    (
        "reserve",
        ReserveResult(SUCCESS, unreserve=cast("Any", "unreserve")),
        "an unreserve that cannot be called: str",
    ),
]


@pytest.mark.parametrize(
    ("method", "answer", "want"),
    NONSENSE,
    ids=[f"{method}: {want}" for method, _, want in NONSENSE],
)
def test_nonsense_is_a_fault(method: str, answer: Any, want: str) -> None:
    """Found at the plugin's door, so that it gets no further."""
    plugin, guard = strange(method, answer)
    with pytest.raises(PluginFault) as caught:
        getattr(plugin, method)(*ARGUMENTS[method])
    assert want in str(caught.value)
    assert len(guard.recorded) == 1


def test_scores_are_judged_where_they_count() -> None:
    """Raw scores may be anything; a plugin that does not normalise has its feasible nodes' scores
    looked at, and no others.
    """
    plugin, _ = strange("score", np.array([50, 500]))
    assert plugin.normalize_score(POD, np.array([50])).tolist() == [50]
    with pytest.raises(PluginFault):
        plugin.normalize_score(POD, np.array([50, 500]))


def test_it_takes_part_where_the_plugin_does() -> None:
    """No method is there that the plugin has not, so that the registry and the runner see the same
    plugin.
    """
    everything: dict[str, Any] = dict.fromkeys(ARGUMENTS, lambda *_: None)
    whole = type(
        "Whole",
        (),
        {"name": "Strange", "events_to_register": (), "reads": frozenset(), **everything},
    )
    for kept in (
        [],
        ["filter", "explain"],
        ["score"],
        ["score_feasible"],
        ["reserve", "pre_filter"],
        list(ARGUMENTS),
    ):
        body = {
            "name": "Strange",
            "events_to_register": (),
            "reads": frozenset(),
            **{name: everything[name] for name in kept},
        }
        decider = cast("type[Plugin]", type("Strange", (), body))
        assert (
            PluginSpec("Strange", guarded(decider, RecordingGuard())).points
            == PluginSpec("Strange", decider).points
        )
    protocols: list[Callable[..., Any]] = [
        FilterPlugin,
        ScorePlugin,
        ScoreExtensions,
        FeasibleScorePlugin,
        PreScorePlugin,
    ]
    whole_guarded: Any = guarded(cast("type[Plugin]", whole), RecordingGuard())
    made = whole_guarded()
    assert all(isinstance(made, cast("Any", protocol)) for protocol in protocols)
    assert not isinstance(made, FallibleFilterPlugin)


def test_a_plugin_that_says_so_may_fail_to_judge() -> None:
    """Codes below 0 are for it."""
    plugin, _ = strange(
        "filter",
        np.array([0, -1]),
        may_fail=True,
        explain=lambda *_: ((Reason("X", "x", Code.ERROR), ""),),
    )
    assert plugin.filter(*ARGUMENTS["filter"]).tolist() == [0, -1]
    assert isinstance(plugin, FallibleFilterPlugin)


def test_equal_plugins_are_equal() -> None:
    """So that profiles share their columns."""
    decider = cast(
        "type[Plugin]",
        type(
            "Strange",
            (),
            {
                "name": "Strange",
                "events_to_register": (),
                "__eq__": lambda s, o: True,
                "__hash__": lambda s: 1,
            },
        ),
    )
    one: Any = guarded(decider, RecordingGuard())
    assert (one() == one(), hash(one()) == hash(one()), one() == 5) == (True, True, False)


def test_plugins_that_cannot_be_compared_differ() -> None:
    """A swap compares them, and must not fail for it."""
    body: dict[str, Any] = {
        "name": "Strange",
        "events_to_register": (),
        "__eq__": lambda s, o: 1 / 0,
        "__hash__": lambda s: 1,
    }
    guard = RecordingGuard()
    one: Any = guarded(cast("type[Plugin]", type("Strange", (), body)), guard)
    assert one() != one()
    assert "ZeroDivisionError" in guard.recorded[0]


def test_an_undo_that_fails_stops_nobody_elses() -> None:
    """It is told; the placement's other reservations are taken back too."""

    def undo() -> None:
        raise ValueError("x")

    plugin, guard = strange("reserve", ReserveResult(SUCCESS, unreserve=undo))
    plugin.reserve(*ARGUMENTS["reserve"]).unreserve()
    assert guard.recorded == ['plugin "Strange" 1.0 failed at unreserve: ValueError: x']


@pytest.mark.parametrize(
    ("hint", "want"),
    [
        pytest.param(lambda pod, event, store: True, True, id="yes"),
        pytest.param(lambda pod, event, store: np.bool_(False), False, id="no"),
        pytest.param(lambda pod, event, store: 1, FAIL, id="neither"),
        pytest.param(lambda pod: True, FAIL, id="raises"),
    ],
)
def test_hints(hint: Any, want: object) -> None:
    """Asked between the guard's hands."""
    plugin, guard = strange(
        "explain",
        (),
        events_to_register=(ClusterEventWithHint(EventResource.NODE, ActionType.ADD, hint),),
    )
    given = (POD, ClusterEvent(EventResource.NODE, ActionType.ADD), Store())
    if want is FAIL:
        with pytest.raises(PluginFault, match="failed at hint"):
            plugin.events_to_register[0].hint(*given)
    else:
        assert plugin.events_to_register[0].hint(*given) is want
    assert guard.entered[-1] == "hint"


@pytest.mark.parametrize(
    ("body", "want"),
    [
        pytest.param(
            {"events_to_register": None},
            "events_to_register is no tuple of ClusterEventWithHint",
            id="no events",
        ),
        pytest.param(
            {"events_to_register": (ClusterEventWithHint("racks.v1.example.com", ActionType.ALL),)},
            "no struct of that resource in its required_kinds",
            id="wakes on what it does not read",
        ),
        pytest.param({"__hash__": None}, "Strange is no hashable value", id="cannot be compared"),
    ],
)
def test_plugins_that_cannot_be_used(body: dict[str, Any], want: str) -> None:
    """Found when one is made."""
    decider = cast(
        "type[Plugin]", type("Strange", (), {"name": "Strange", "events_to_register": (), **body})
    )
    with pytest.raises(PluginFault, match=want):
        guarded(decider, RecordingGuard())()


def test_whose_fault_it_is_when_one_asks_another() -> None:
    """A postFilter plugin asks filters: what another plugin's filter does wrong stays that
    one's.
    """
    inner, _ = strange("filter", ValueError("x"))
    guard = RecordingGuard("Outer")
    body = {
        "name": "Outer",
        "events_to_register": (),
        "post_filter": lambda *_: inner.filter(POD, SNAPSHOT, ROWS),
    }
    with pytest.raises(PluginFault, match='plugin "Strange"'):
        guarded(cast("type[Plugin]", type("Outer", (), body)), guard)().post_filter(POD, ATTEMPT)  # type: ignore[attr-defined]
    assert (guard.recorded, guard.inside) == ([], 0)
