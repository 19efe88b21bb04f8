"""Scalar plugins: asked node by node, they decide as their columnar twins do, and in time."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import decide
from moorage.core.framework.guard import PluginFault, guarded
from moorage.core.framework.registry import PluginSpec, build_registry
from moorage.core.framework.revisions import EnabledPlugins, PluginRef, RequestedProfile, resolve
from moorage.core.framework.scalar import MAX_CALL_SECONDS, MAX_REASONS, as_columnar
from moorage.core.framework.status import Code, Reason
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.objects.workloads import Service
from moorage.core.plugins.intree import INTREE, PRESETS
from tests.builders import make_node, make_pod
from tests.fakes.guards import RecordingGuard

GONE = Reason("Gone", "node(s) were gone", Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


class Asked:
    """Answers by node name, and remembers whom it was asked about."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str]] = []

    def of(self, pod: Pod, node: Node) -> Any:
        """The answer."""
        self.asked.append((pod.metadata.name, node.metadata.name))
        answer = self.answers.get(node.metadata.name)
        return answer() if callable(answer) else answer


def scheduling(decider: type[Any], guard: RecordingGuard, nodes: int = 3) -> Any:
    """A scheduler over so many nodes n1, n2, …, and a function that decides with the plugin
    enabled.
    """
    cache = Cache()
    for i in range(nodes):
        cache.put_node(make_node(f"n{i + 1}"))
    context = CycleContext(cache, seed=1)
    registry = build_registry(
        INTREE, [PluginSpec("Strange", guarded(as_columnar(decider, guard), guard))]
    )
    spec = RequestedProfile(
        "test",
        "Default",
        {"multiPoint": EnabledPlugins((PluginRef("Strange", 100),), ("ImageLocality",))},
    )
    revision = resolve(spec, registry, PRESETS)
    return cache, lambda pod: decide(pod, revision, context)


def filtering(asked: Asked) -> type[Any]:
    """A plugin class with filter_node."""

    @dataclasses.dataclass(frozen=True)
    class Filtering:
        name: ClassVar[str] = "Strange"
        events_to_register: ClassVar[tuple[()]] = ()

        def filter_node(self, pod: Pod, node: Node) -> Any:
            return asked.of(pod, node)

    return Filtering


def scoring(asked: Asked) -> type[Any]:
    """A plugin class with score_node."""

    @dataclasses.dataclass(frozen=True)
    class Scoring:
        name: ClassVar[str] = "Strange"
        events_to_register: ClassVar[tuple[()]] = ()

        def score_node(self, pod: Pod, node: Node) -> Any:
            return asked.of(pod, node)

    return Scoring


def test_texts_and_reasons_reach_the_diagnosis() -> None:
    """A text is a refusal that removing pods may help against, braces and all; a Reason says itself
    what it is.
    """
    _, decides = scheduling(
        filtering(Asked({"n1": "too {hot}", "n2": GONE, "n3": "too {hot}"})), RecordingGuard()
    )
    outcome = decides(make_pod("p"))
    assert isinstance(outcome, Diagnosis)
    assert outcome.message.startswith("0/3 nodes are available: 1 node(s) were gone, 2 too {hot}.")
    assert (outcome.code, outcome.unschedulable_plugins) == (Code.UNSCHEDULABLE, {"Strange"})


def test_only_rows_that_changed_are_asked_again() -> None:
    """A pod of the same template asks nobody; a node whose annotations, conditions or labels
    changed is asked again, alone.
    """
    asked = Asked({"n1": "no"})
    cache, decides = scheduling(filtering(asked), RecordingGuard(), nodes=8)
    decides(make_pod("p"))
    assert len(asked.asked) == 8
    decides(make_pod("q"))
    assert len(asked.asked) == 8
    node = make_node("n2")
    cache.put_node(
        msgspec.structs.replace(
            node, metadata=msgspec.structs.replace(node.metadata, annotations={"hot": "yes"})
        )
    )
    decides(make_pod("r"))
    assert asked.asked[8:] == [("p", "n2")]
    cache.put_node(
        msgspec.structs.replace(
            node,
            metadata=msgspec.structs.replace(
                node.metadata, annotations={"hot": "yes"}, resource_version="9"
            ),
        )
    )
    decides(make_pod("s"))
    assert len(asked.asked) == 9


def test_pods_that_differ_in_labels_are_asked_about_apart() -> None:
    """A plugin may look at a pod's labels: answers for one are not another's."""
    asked = Asked({})
    _, decides = scheduling(filtering(asked), RecordingGuard())
    pod = make_pod("p")
    decides(pod)
    decides(
        msgspec.structs.replace(
            pod,
            metadata=msgspec.structs.replace(pod.metadata, labels={"a": "b"}, uid="u2", name="q"),
        )
    )
    assert [name for name, _ in asked.asked] == ["p"] * 3 + ["q"] * 3


@given(scores=st.lists(st.integers(0, 100), min_size=2, max_size=6, unique=True))
def test_the_best_node_wins(scores: list[int]) -> None:
    """Scores count as they are."""
    answers = {f"n{i + 1}": score for i, score in enumerate(scores)}
    _, decides = scheduling(scoring(Asked(answers)), RecordingGuard(), len(scores))
    outcome = decides(make_pod("p"))
    assert isinstance(outcome, ScheduleResult)
    assert answers[outcome.node] == max(scores)


@pytest.mark.parametrize(
    ("make", "answer", "want"),
    [
        pytest.param(filtering, True, "TypeError: filter_node gave bool", id="filter: a bool"),
        pytest.param(filtering, lambda: 1 / 0, "ZeroDivisionError", id="filter: raises"),
        pytest.param(scoring, 1.5, "TypeError", id="score: a float"),
        pytest.param(scoring, None, "TypeError", id="score: nothing"),
        pytest.param(scoring, 10**30, "OverflowError", id="score: beyond int64"),
        pytest.param(scoring, 101, "the score 101", id="score: out of range"),
        pytest.param(scoring, float("nan"), "TypeError", id="score: not a number"),
    ],
)
def test_nonsense_is_a_fault(make: Any, answer: Any, want: str) -> None:
    """That names the plugin."""
    guard = RecordingGuard()
    _, decides = scheduling(
        make(
            Asked(
                {
                    "n2": answer,
                    "n1": 1 if make is scoring else None,
                    "n3": 1 if make is scoring else None,
                }
            )
        ),
        guard,
    )
    with pytest.raises(PluginFault, match=r'plugin "Strange" 1\.0 failed at'):
        decides(make_pod("p"))
    assert want in guard.recorded[0]


@pytest.mark.parametrize("make", [filtering, scoring])
def test_a_slow_plugin_fails_in_time(make: Any) -> None:
    """The time is looked at between nodes; once there is time again, the pod is decided."""
    guard = RecordingGuard()

    def slow() -> Any:
        guard.seconds = MAX_CALL_SECONDS + 0.5
        return 1 if make is scoring else None

    asked = Asked(
        {"n1": 1 if make is scoring else None, "n2": slow, "n3": 1 if make is scoring else None}
    )
    _, decides = scheduling(make(asked), guard)
    with pytest.raises(PluginFault, match=r"it took 1.5 s for 2 of 3 nodes; it may take 1 s"):
        decides(make_pod("p"))
    guard.seconds, asked.answers["n2"] = 0.0, asked.answers["n1"]
    assert isinstance(decides(make_pod("p")), ScheduleResult)


def test_reasons_that_name_numbers_are_found_out() -> None:
    """Or every node had a reason of its own, kept for ever."""
    asked = Asked({f"n{i + 1}": f"at {i} degrees" for i in range(MAX_REASONS + 1)})
    _, decides = scheduling(filtering(asked), RecordingGuard(), MAX_REASONS + 1)
    with pytest.raises(PluginFault, match="more than 1000 different reasons"):
        decides(make_pod("p"))


def test_what_it_prepares_is_made_anew_when_an_object_of_its_kinds_changes() -> None:
    """And with it every answer."""

    @dataclasses.dataclass(frozen=True)
    class Reading:
        name: ClassVar[str] = "Strange"
        events_to_register: ClassVar[tuple[()]] = ()
        required_kinds: ClassVar[frozenset[type]] = frozenset({Service})

        def prepare(self, pod: Pod, store: Any) -> int:
            return len(store.objects(Service))

        def filter_node(self, pod: Pod, node: Node, services: int) -> str | None:
            return None if services else "no service"

    cache, decides = scheduling(cast("type[Any]", Reading), RecordingGuard())
    assert isinstance(decides(make_pod("p")), Diagnosis)
    cache.store.put(
        Service(ObjectMeta(name="s", namespace="default", uid="s", resource_version="1"))
    )
    assert isinstance(decides(make_pod("p")), ScheduleResult)
