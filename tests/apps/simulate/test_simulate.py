"""`moorage simulate`, on YAML as people write it and on recordings: sentences, documents, pages and
exit statuses.
"""

from __future__ import annotations

import dataclasses
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.simulate.simulate import SimulateOptions, run
from tests.apps.outputs.reading import read_output
from tests.apps.test_cli import call
from tests.apps.worlds.recordings import RESOLVER, write_recording
from tests.builders import make_node
from tests.core.simulation.clusters import a_context, a_pod
from tests.core.simulation.recordings import Visit, recorded
from tests.engine.worlds import a_body

PACKED = a_body("test", preset="BinPack")
NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}},
    }
    for name in ("n1", "n2")
]


def pod(name: str, cpu: str = "1", node: str = "", app: str = "web") -> dict[str, Any]:
    """A pod that runs on a node, or waits."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r"}
    container = {"name": "c", "image": "a", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"app": app},
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {"containers": [container], "nodeName": node},
        "status": {"phase": "Running" if node else "Pending"},
    }


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines on stdout."""
    return capsys.readouterr().out.splitlines()


def test_a_drain(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """What was on the node is elsewhere, or waits."""
    world = files(*NODES, pod("a", node="n1"), pod("b", "3", "n1"), pod("c", "3", "n2"))
    assert run(SimulateOptions(world=(world,), drains=("n1",))) == 1
    lines = said(capsys)
    assert lines[0] == "1 pod placed, 1 without a place."
    assert "   1  Insufficient cpu  default/b" in lines
    assert lines[-1].startswith("Cannot know: ")


def test_a_budget_holds_a_drain_up(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 0},
    }
    world = files(*NODES, pod("a", node="n1"), budget)
    assert run(SimulateOptions(world=(world,), drains=("n1",))) == 1
    assert "Budgets are heeded: 1 node held up by default/keep." in said(capsys)


def test_each_node_drained(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    world = files(*NODES, pod("a", node="n1"), pod("b", "4", "n2"))
    assert run(SimulateOptions(world=(world,), each_node_drained=True)) == 1
    assert said(capsys)[:5] == [
        "0 of 2 nodes can be drained, one at a time, and every pod finds a place.",
        "PENDING AFTER  NODES  FIRST REASON",
        "1 to 5 pods        2  Insufficient cpu",
        "Worst: n1, 1 pod left pending.",
        f"From {world}.",
    ]
    fits = files(*NODES, pod("a", node="n1"), pod("b", "3", "n2"))
    options = SimulateOptions(world=(fits,), each_node_drained=True, form="json")
    assert run(options) == 0
    found = read_output(capsys.readouterr().out)
    assert (found["kind"], found["question"], found["drainable"]) == (
        "Simulation",
        "eachNodeDrained",
        2,
    )


def test_more_nodes_and_pods(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    world, more = files(*NODES, pod("a", "4", "n1")), files(*(pod(f"m{i}", "4") for i in range(3)))
    assert run(SimulateOptions(world=(world,), pods=(more,))) == 1
    assert run(SimulateOptions(world=(world,), pods=(more,), more_nodes=2, like="n1")) == 0
    assert "3 pods placed, none without a place." in said(capsys)


def test_more_pods_than_can_be_simulated(files: Any) -> None:
    """They would be more than the memory holds."""
    body = pod("a")
    body["kind"] = "ReplicaSet"
    body["spec"] = {"replicas": 10**9, "template": {"spec": pod("a")["spec"]}}
    options = SimulateOptions(world=(files(*NODES),), pods=(files(body),))
    with pytest.raises(WrongUse, match="1,000,000,000 pods are more than can be simulated"):
        run(options)


def test_a_pod_group_waits_in_a_line(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """How many fit and what the others lack; programs get every word."""
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"minMember": 4},
    }
    members = [pod(f"m{i}", "3") for i in range(4)]
    for one in members:
        one["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "g"}
    world = files(*NODES, group, *members)
    assert run(SimulateOptions(world=(world,), drains=("n1",))) == 1
    (row,) = (line for line in said(capsys) if "minCount" in line)
    why = "minCount (4) cannot be satisfied: 2 scheduled, 1 remaining: Insufficient cpu"
    assert row.split() == f"3 {why} default/m0, default/m1, default/m3".split()
    assert run(SimulateOptions(world=(world,), drains=("n1",), form="json")) == 1
    assert "; 'm2' does not fit: 0/" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "owner", "labels"),
    [
        ("Deployment", ("ReplicaSet", "w-5d8f"), {"pod-template-hash": "5d8f"}),
        ("ReplicaSet", ("ReplicaSet", "w"), {}),
        ("Job", ("Job", "w"), {}),
        ("CronJob", ("Job", "w-29400001"), {}),
        ("Pod", None, {}),
    ],
)
def test_pods_that_are_there_already(
    files: Any, kind: str, owner: Any, labels: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever applies first and asks then is told that they count beside those."""
    there, other, template = pod("w", node="n1"), pod("other", node="n1"), pod("w")["spec"]
    there["metadata"]["labels"] = labels
    if owner is None:
        del there["metadata"]["ownerReferences"]
    else:
        (reference,) = there["metadata"]["ownerReferences"]
        reference.update(kind=owner[0], name=owner[1])
    spec = {
        "template": {"spec": template},
        "jobTemplate": {"spec": {"template": {"spec": template}}},
    }
    comes = {"kind": kind, "metadata": {"name": "w"}, "spec": template if kind == "Pod" else spec}
    more = files({"apiVersion": "apps/v1", **comes})
    assert run(SimulateOptions(world=(files(*NODES, there, other),), pods=(more,))) == 0
    text = f"1 pod of {kind} default/w is there already: those of --pods count beside it"
    assert capsys.readouterr().err == f"moorage: {text}\n"


def test_a_candidate_beside_what_decides(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    world = files(*NODES, *(pod(f"p{i}") for i in range(4)))
    candidate = f"default-scheduler={files(PACKED)}"
    assert run(SimulateOptions(world=(world,), candidates=(candidate,), form="json")) == 0
    a, b = read_output(capsys.readouterr().out)["worlds"]
    empty = [
        next(one["after"] for one in found["measures"] if one["name"] == "nodes left empty")
        for found in (a, b)
    ]
    assert empty == [0.0, 1.0]


class Loads(HTMLParser):
    """What a page would load or run, and what it says in its headings."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, Any]] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.tags.append(tag)
        named = [name for name, _ in attrs if name in ("src", "href") or name.startswith("on")]
        if tag in ("script", "link", "iframe", "img") or named:
            self.found.append((tag, attrs))


def a_recording(path: Path) -> Path:
    """Of a quarter of an hour in which pods come and go."""
    revisions = {"test": RESOLVER(a_body("test"), {}).revision}
    nodes = [make_node(f"n{i}", cpu="8") for i in range(4)]
    visits = [Visit(10.0 * i, a_pod(f"p{i}", cpu="1"), 35.0) for i in range(1, 90)]
    entries = recorded(a_context(nodes), visits, 900.0, revisions)
    begin = [entry for time, entry in entries if time == 0]
    return write_recording(path, begin, *entries[len(begin) :])


def test_a_recorded_time_under_a_candidate(
    files: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a page that needs nothing beside itself."""
    recording, page = a_recording(tmp_path / "a.rec"), tmp_path / "out.html"
    options = SimulateOptions(world=(recording,), candidates=(str(files(PACKED)),), report=page)
    assert run(options) == 0
    lines = said(capsys)
    assert lines[0].startswith("In B nodes left empty +")
    assert lines[0].endswith(" 89 arrivals over 15m.")
    assert any(line.startswith("nodes left empty") and line.endswith(" clear") for line in lines)
    assert any(line.endswith("no clear difference") for line in lines)
    assert "Means of 8 times, whose ties end otherwise; A as it was is one of them." in lines
    assert "Made again without the candidate, 100 %" in "".join(lines)
    assert lines[-1].startswith("Cannot know: how users and controllers react")
    html = Loads()
    html.feed(page.read_text())
    assert not html.found and "svg" in html.tags and "http" not in page.read_text()


def test_a_recorded_time_under_what_decided_then(
    files: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two worlds that are the same do not differ."""
    same = str(files(a_body("test")))
    options = SimulateOptions(world=(a_recording(tmp_path / "a.rec"),), candidates=(same,))
    assert run(options) == 0
    lines = said(capsys)
    assert lines[0] == "No clear difference. 89 arrivals over 15m."
    assert "Elsewhere: 0 pods (0 %). No node only in B: 0." in lines


def test_time_ends_a_comparison(
    files: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not before there are two of each world."""
    world, same = a_recording(tmp_path / "a.rec"), str(files(a_body("test")))
    options = SimulateOptions(world=(world,), candidates=(same,), seconds=1e-9, form="json")
    assert run(options) == 0
    assert read_output(capsys.readouterr().out)["replicas"] == 2
    assert run(dataclasses.replace(options, form="")) == 0
    assert any("no time was left for 8" in line for line in said(capsys))


def test_pages_escape_what_objects_are_called(files: Any, tmp_path: Path) -> None:
    """A name that an API server would never take is text all the same."""
    page = tmp_path / "out.html"
    named = pod("<script>alert(1)</script>", "9")
    assert run(SimulateOptions(world=(files(*NODES, named),), report=page)) == 1
    assert "<script" not in page.read_text() and "&lt;script&gt;" in page.read_text()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        pytest.param({"drains": ("n9",)}, "there is no node n9; from", id="node"),
        pytest.param({"drains": ("n11",)}, 'n11; did you mean "n1"', id="near a node"),
        pytest.param({"more_nodes": 1}, "--add-nodes and --like belong together", id="like"),
        pytest.param(
            {"each_node_drained": True, "drains": ("n1",)},
            "--each-node-drained goes alone",
            id="two",
        ),
    ],
)
def test_what_means_nothing(files: Any, options: dict[str, Any], why: str) -> None:
    with pytest.raises(WrongUse, match=why):
        run(SimulateOptions(world=(files(*NODES),), **options))


def test_candidates_that_mean_nothing(files: Any) -> None:
    world = (files(*NODES),)
    wrong = files(a_body("test", preset="Nothing"))
    for given, why in (
        (f"{wrong}", "SchedulerProfile test: spec.preset"),
        (f"other={files(PACKED, a_body('two'))}", "the file has test, two"),
        (f"tset={files(PACKED, a_body('two'))}", 'did you mean "test"'),
        (f"{files(*NODES)}", "there is no SchedulerProfile"),
    ):
        with pytest.raises(WrongUse, match=why):
            run(SimulateOptions(world=world, candidates=(given,)))
    with pytest.raises(NoAnswer):
        run(SimulateOptions(world=world, report=world[0] / "below" / "a-file.html"))


def test_the_command(files: Any) -> None:
    world = files(*NODES, pod("a", node="n1"))
    done = call("simulate", world, "--drain", "n1", "-o", "yaml")
    assert (done.returncode, done.stderr) == (0, "")
    assert yaml.safe_load(done.stdout)["worlds"][0]["placed"] == 1
    assert call("simulate", world, "--drain", "n9").returncode == 2
    assert call("simulate", world.parent / "absent.yaml").returncode == 3
