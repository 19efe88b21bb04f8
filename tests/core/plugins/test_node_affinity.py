"""NodeAffinity: the pod's terms, the administrator's, names that narrow, preferences."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from moorage.core.columns.cache import Cache
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Store
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.status import SKIP, SUCCESS, Code, rejected
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Affinity, Pod
from moorage.core.plugins.node_affinity import (
    CONFLICT,
    NOT_ALLOWED,
    NOT_WANTED,
    NodeAffinityArgs,
    NodeAffinityPlugin,
)
from tests.builders import make_node, make_pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
Document = dict[str, Any]


def label(key: str, operator: str, *values: str) -> Document:
    """A term on a label."""
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def name(operator: str, *values: str) -> Document:
    """A term on the node's name."""
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


def affinity(*required: Document, preferred: list[tuple[int, Document]] | None = None) -> Document:
    """A node affinity document."""
    document: Document = {REQUIRED: {"nodeSelectorTerms": list(required)}} if required else {}
    if preferred is not None:
        document[PREFERRED] = [{"weight": weight, "preference": term} for weight, term in preferred]
    return document


def pod_with(document: Document | None = None, **spec: Any) -> Pod:
    """A pod with this node affinity."""
    return make_pod(
        "p",
        affinity=msgspec.convert({"nodeAffinity": document}, Affinity)
        if document is not None
        else None,
        **spec,
    )


def args_with(document: Document | None) -> NodeAffinityArgs:
    """Arguments as they are read from a document."""
    return TypeAdapter(NodeAffinityArgs).validate_json(
        json.dumps({"addedAffinity": document}), strict=True
    )


@pytest.fixture
def snapshot() -> Snapshot:
    """Four nodes: disk ssd gen 7, disk ssd, disk hdd gen 3, no labels."""
    cache = Cache()
    for i, labels in enumerate(
        [{"disk": "ssd", "gen": "7"}, {"disk": "ssd"}, {"disk": "hdd", "gen": "3"}, {}]
    ):
        cache.put_node(make_node(f"n{i}", labels=labels))
    return Snapshot(cache)


SSD, HDD, BAD = label("disk", "In", "ssd"), label("disk", "In", "hdd"), label("gen", "Gt", "-5")


@pytest.mark.parametrize(
    ("pod", "added", "want"),
    [
        (pod_with(), None, None),
        (pod_with({}), None, None),
        (pod_with({}), affinity(preferred=[(1, SSD)]), None),
        (pod_with(node_selector={}), None, [0, 0, 0, 0]),
        (pod_with(node_selector={"disk": "ssd"}), None, [0, 0, 2, 2]),
        (pod_with(affinity(SSD, label("gen", "Gt", "2"))), None, [0, 0, 0, 2]),
        (
            pod_with(affinity(label("gen", "Gt", "2")), node_selector={"disk": "ssd"}),
            None,
            [0, 2, 2, 2],
        ),
        (pod_with(affinity(BAD, HDD)), None, [2, 2, 0, 2]),
        (pod_with({REQUIRED: {"nodeSelectorTerms": []}}), None, [2, 2, 2, 2]),
        (pod_with(), affinity(SSD), [0, 0, 1, 1]),
        (pod_with(node_selector={"gen": "7"}), affinity(SSD), [0, 2, 1, 1]),
        (pod_with(), {REQUIRED: {"nodeSelectorTerms": []}}, [1, 1, 1, 1]),
    ],
    ids=[
        "no affinity",
        "empty",
        "preferences alone",
        "empty selector",
        "selector",
        "any term",
        "selector and term",
        "unreadable term",
        "no terms",
        "added",
        "both, the added first",
        "added without terms",
    ],
)
def test_filter(
    snapshot: Snapshot, pod: Pod, added: Document | None, want: list[int] | None
) -> None:
    """The pod's own terms and the added ones; None: nothing is required and the plugin is
    skipped.
    """
    plugin = NodeAffinityPlugin(args_with(added))
    prepared = plugin.pre_filter(pod, snapshot)
    if want is None:
        assert prepared.status == SKIP
        return
    assert prepared.status == SUCCESS
    assert plugin.filter(prepared.state, snapshot, snapshot.nodes.all_rows).tolist() == want
    assert [
        int(plugin.filter(prepared.state, snapshot, np.array([row], np.intp))[0])
        for row in range(4)
    ] == want


def test_reasons() -> None:
    """Whose terms a node failed."""
    plugin = NodeAffinityPlugin()
    state = plugin.pre_filter(pod_with(affinity(SSD)), Snapshot(Cache())).state
    assert plugin.explain(state, 1) == ((NOT_ALLOWED, ""),)
    assert plugin.explain(state, 2) == ((NOT_WANTED, ""),)


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        ([SSD], None),
        ([name("NotIn", "n1")], None),
        ([name("In", "n1")], {"n1"}),
        ([name("In", "n1"), name("In", "n2")], {"n1", "n2"}),
        ([name("In", "n1"), SSD], None),
        ([name("In", "n1"), {}], None),
        ([{**SSD, **name("In", "n1")}], {"n1"}),
        (
            [
                {
                    "matchFields": name("In", "n1", "n2")["matchFields"]
                    + name("In", "n2")["matchFields"]
                }
            ],
            {"n2"},
        ),
        (
            [{"matchFields": name("In", "n1")["matchFields"] + name("In", "n2")["matchFields"]}],
            set(),
        ),
        ([name("In")], set()),
        ([{"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["n1"]}]}], None),
    ],
)
def test_names_narrow_the_choice(
    snapshot: Snapshot, terms: list[Document], want: set[str] | None
) -> None:
    """When every term goes by name only these nodes can fit; when no name is left, none can."""
    prepared = NodeAffinityPlugin().pre_filter(pod_with(affinity(*terms)), snapshot)
    if want == set():
        assert prepared.status == rejected(CONFLICT)
    else:
        assert (prepared.status, prepared.node_names) == (SUCCESS, want)


@pytest.mark.parametrize(
    ("own", "added", "raw"),
    [
        (None, None, None),
        ({}, affinity(SSD), None),
        (affinity(preferred=[]), None, [0, 0, 0, 0]),
        (affinity(preferred=[(5, SSD), (2, label("gen", "Exists"))]), None, [7, 5, 2, 0]),
        (affinity(preferred=[(0, BAD), (9, {}), (3, HDD)]), None, [0, 0, 3, 0]),
        (None, affinity(preferred=[(4, SSD)]), [4, 4, 0, 0]),
        (affinity(preferred=[(1, HDD)]), affinity(preferred=[(4, SSD), (0, HDD)]), [4, 4, 1, 0]),
    ],
    ids=["none", "required alone", "empty list", "sum", "weightless and empty", "added", "both"],
)
def test_score(
    snapshot: Snapshot, own: Document | None, added: Document | None, raw: list[int] | None
) -> None:
    """Weights of matching terms add up; None: nothing is preferred and the plugin is skipped."""
    plugin = NodeAffinityPlugin(args_with(added))
    prepared = plugin.pre_score(pod_with(own), snapshot)
    if raw is None:
        assert prepared.status == SKIP
        return
    scores = plugin.score(prepared.state, snapshot, snapshot.nodes.all_rows)
    assert scores.tolist() == raw
    assert plugin.normalize_score(prepared.state, scores).tolist() == [
        100 * one // max(raw) if any(raw) else 0 for one in raw
    ]


def test_unreadable_preference_is_a_fault(snapshot: Snapshot) -> None:
    """Unlike an unreadable required term; the text has the path and the value."""
    prepared = NodeAffinityPlugin().pre_score(
        pod_with(affinity(preferred=[(1, SSD), (1, BAD)])), snapshot
    )
    assert prepared.status.code is Code.ERROR
    assert prepared.status.message.startswith(
        '[1].matchExpressions[0].values[0][gen]: Invalid value: "-5": a valid label'
    )


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        (None, {"disk": "ssd", "zone": "a"}, True),
        (None, {"disk": "hdd", "zone": "a"}, False),
        (None, {"disk": "ssd"}, False),
        ({"zone": "a"}, {"disk": "ssd", "zone": "a"}, True),
        ({"disk": "ssd"}, {"disk": "ssd", "zone": "a"}, True),
        ({"disk": "ssd", "zone": "a"}, {"disk": "ssd", "zone": "a", "more": ""}, False),
        ({"disk": "ssd", "zone": "a"}, {"disk": "hdd", "zone": "a"}, False),
    ],
    ids=[
        "new",
        "new, fails the pod",
        "new, fails the added",
        "pod matches now",
        "added matches now",
        "matched before",
        "no more",
    ],
)
def test_nodes_that_wake(old: dict[str, str] | None, new: dict[str, str], want: bool) -> None:
    """A node that matches the pod's and the added terms, and did not match both before."""
    plugin = NodeAffinityPlugin(args_with(affinity(label("zone", "Exists"))))
    before: Node | None = make_node("n", labels=old) if old is not None else None
    event = ClusterEvent(
        EventResource.NODE,
        ActionType.UPDATE_NODE_LABEL if before else ActionType.ADD,
        before,
        make_node("n", labels=new),
    )
    (wake,) = plugin.events_to_register
    assert wake.matches(event)
    assert wake.hint is not None
    assert wake.hint(pod_with(affinity(SSD)), event, Store()) is want


# ---- arguments -----------------------------------------------------------------------------------


def test_arguments_are_values() -> None:
    """Equal arguments make equal plugins, so that they share columns."""
    one, other = (
        NodeAffinityPlugin(args_with(affinity(SSD))),
        NodeAffinityPlugin(args_with(affinity(SSD))),
    )
    assert one == other
    assert hash(one) == hash(other)
    assert one != NodeAffinityPlugin(args_with(affinity(HDD)))


@pytest.mark.parametrize(
    "document",
    [
        {"requiredDuringScheduling": {}},
        affinity(label("a", "Near", "b")),
        affinity(preferred=[(-1, SSD)]),
        {PREFERRED: [{"weight": 1}]},
        affinity({"matchExpression": []}),
        {REQUIRED: {}},
    ],
    ids=[
        "unknown field",
        "unknown operator",
        "negative weight",
        "no preference",
        "unknown field in a term",
        "no terms",
    ],
)
def test_reader_refuses(document: Document) -> None:
    """What the types say is enforced by whoever reads the document."""
    with pytest.raises(ValidationError):
        args_with(document)


def test_arguments_tell_all_faults() -> None:
    """Required and preferred terms alike, with paths from the arguments on."""
    document = affinity(SSD, label("gen", "In"), preferred=[(1, name("Exists")), (0, BAD)])
    assert [
        (violation.path, violation.message) for violation in args_with(document).validate()
    ] == [
        (
            f"addedAffinity.{REQUIRED}.nodeSelectorTerms[1].matchExpressions[0].values",
            "for 'in', 'notin' operators, values set can't be empty",
        ),
        (f"addedAffinity.{PREFERRED}[0].matchFields[0].operator", "must be In or NotIn"),
    ]
    assert args_with(None).validate() == []
    assert args_with(affinity(SSD, preferred=[(101, HDD)])).validate() == []
