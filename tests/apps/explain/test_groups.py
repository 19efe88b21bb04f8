"""`moorage explain` of pod groups and their members, on files: what it prints, and how it ends."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from moorage.apps.exit_status import ExitStatus, WrongUse
from moorage.apps.explain.explain import ExplainOptions, run
from moorage.apps.worlds.cluster_choice import ClusterChoice
from tests.apps.outputs.reading import read_output

NODES = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {zone: a}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {zone: b}}
status: {allocatable: {cpu: "3", memory: 8Gi, pods: "10"}}
"""
CORDONED = """
---
apiVersion: v1
kind: Node
metadata: {name: n3, labels: {zone: c}}
spec: {unschedulable: true}
status: {allocatable: {cpu: "9", memory: 8Gi, pods: "10"}}
"""
GROUP = """
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: trainer, namespace: ml}
spec: {priority: 5, schedulingPolicy: {gang: {minCount: %d}}%s}
"""
TOPOLOGY = ", schedulingConstraints: {topology: [{key: zone}]}"
MEMBER = """
---
apiVersion: v1
kind: Pod
metadata: {name: trainer-%d, namespace: ml}
spec: {schedulerName: default-scheduler, priority: 5, schedulingGroup: {podGroupName: trainer},
  containers: [{name: c, image: a, resources: {requests: {cpu: "2"}}}]}
"""
LOW = """
---
apiVersion: v1
kind: Pod
metadata: {name: low, namespace: shop}
spec: {schedulerName: default-scheduler, nodeName: n2,
  containers: [{name: c, image: a, resources: {requests: {cpu: "2"}}}]}
"""


def explained(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    *parts: str,
    name: str = "ml/trainer",
    form: str = "",
    candidate: str = "",
) -> tuple[int, str]:
    """Exit status and output, less what names a revision."""
    file = folder / "world.yaml"
    file.write_text(NODES + "".join(parts))
    group = not name.rpartition("-")[2].isdigit()
    options = ExplainOptions(
        name=name, cluster=ClusterChoice(), files=(file,), form=form, group=group
    )
    if candidate:
        profile = folder / "candidate.yaml"
        profile.write_text(candidate)
        options = dataclasses.replace(options, profile=profile)
    status = run(options)
    lines = capsys.readouterr().out.splitlines()
    return status, "\n".join(line.partition("; profile")[0] for line in lines)


def members(number: int) -> str:
    return "".join(MEMBER % i for i in range(number))


def test_a_group_that_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who finds a node and who does not, what would help, and whom preemption would hit."""
    parts = GROUP % (3, ""), members(3), LOW
    status, output = explained(tmp_path, capsys, *parts)
    assert status == ExitStatus.NO
    assert (
        output
        == """\
2 of 3 members of ml/trainer find a node, and 3 are needed together. 0/2 nodes are available: 2 \
Insufficient cpu.
  gang of 3, priority 5; 3 members are here (scheduling.k8s.io/v1beta1)

MEMBER        NODE  REASON
ml/trainer-2  -     0/2 nodes are available: 2 Insufficient cpu.
ml/trainer-0  n1
ml/trainer-1  n1

ml/trainer-2, with those before it on their nodes:
NODES  PLUGIN            REASON
    2  NodeResourcesFit  Insufficient cpu; nearest n2 lacks 1; n1 lacks 2

WOULD HELP (each tried by deciding again; no smaller change of its kind does)
  request    cpu 2 -> 1333m  the group fits, on 1 node
  minCount   3 -> 2          the group fits, on 1 node
  add nodes  1 like n2       the group fits, on 2 nodes
  add nodes  1 like n1       the group fits, on 2 nodes

Preemption would help: it would hit shop/low; members would go to n1, n2."""
    )
    status, output = explained(tmp_path, capsys, *parts, form="json")
    document = read_output(output)
    assert (document["kind"], document["verdict"]) == ("PodGroupExplanation", "Pending")
    assert document["group"]["refused"] == "ml/trainer-2"
    assert [one["node"] for one in document["group"]["preemption"]["nodes"]] == ["n1", "n2", "n1"]


def test_a_member_is_judged_with_its_group(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Alone it would fit."""
    parts = GROUP % (3, ""), members(3), LOW
    status, output = explained(tmp_path, capsys, *parts, name="ml/trainer-0")
    assert status == ExitStatus.NO
    assert output.startswith("ml/trainer-0 waits with its group: 2 of 3 members of ml/trainer fi")
    _, output = explained(tmp_path, capsys, *parts, name="ml/trainer-0", form="json")
    document = read_output(output)
    assert (document["verdict"], document["placement"]) == ("Pending", None)
    assert document["preemption"]["node"] == "n1"
    assert document["changes"] == document["group"]["changes"] != []
    status, output = explained(tmp_path, capsys, *parts[:2], name="ml/trainer-0")
    assert status == ExitStatus.YES
    assert output.startswith("ml/trainer-0 fits with its group: it would go to n")


CANDIDATE = """
apiVersion: moorage.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: default-scheduler}
spec: {preset: Default, plugins: {multiPoint: {disabled: [{name: %s}]}}}
"""


def test_a_member_under_a_candidate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its group is judged under both; the member alone would fit under either."""
    parts, name = (GROUP % (3, ""), members(3), LOW), "ml/trainer-0"
    loose = CANDIDATE % "NodeResourcesFit"
    status, output = explained(tmp_path, capsys, *parts, name=name, candidate=loose)
    assert status == ExitStatus.YES
    first, *lines = output.replace(f"{tmp_path}/", "").splitlines()
    assert first == (
        "Would be placed on n2 with its group under candidate.yaml (default-scheduler). "
        "1 of 1 reasons is gone."
    )
    needed = "members of ml/trainer find a node, and 3 are needed together."
    assert lines[1:3] == [
        f"  now 2 of 3 {needed} 0/2 nodes are available: 2 Insufficient cpu.",
        f"  then 3 of 3 {needed}",
    ]
    assert "ml/trainer-2, with those before it on their nodes:\nNODES NOW  NODES THEN" in output
    strict = CANDIDATE % "ImageLocality"
    status, output = explained(tmp_path, capsys, *parts, name=name, candidate=strict, form="json")
    assert status == ExitStatus.NO
    document = read_output(output)
    assert (document["verdict"], document["placement"]) == ("StillPending", None)
    assert document["group"]["refused"] == document["groupNow"]["refused"] == "ml/trainer-2"
    assert document["refusals"] == [
        {
            "plugin": "NodeResourcesFit",
            "reasons": ["Insufficient cpu"],
            "nodesNow": 2,
            "nodesThen": 2,
        }
    ]


def test_a_member_that_a_candidate_gates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its group, or by a plugin, whatever its group is."""
    strict, name = CANDIDATE % "ImageLocality", "ml/trainer-0"
    parts = GROUP % (3, ""), members(2)
    status, output = explained(tmp_path, capsys, *parts, name=name, candidate=strict)
    assert status == ExitStatus.NO
    assert output.startswith("Gated with its group under ")
    assert "by PodGroup: waiting for minCount pods" in output.splitlines()[0]
    gated = members(3).replace("spec: {s", "spec: {schedulingGates: [{name: a}], s", 1)
    status, output = explained(tmp_path, capsys, parts[0], gated, name=name, candidate=strict)
    assert status == ExitStatus.NO
    assert output.startswith("Gated under ")
    assert "by SchedulingGates" in output.splitlines()[0]


def test_a_member_that_has_a_node_is_judged_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And it is said so, under a candidate as well."""
    there = members(1).replace("priority: 5", "nodeName: n1, priority: 5")
    for candidate in ("", CANDIDATE % "ImageLocality"):
        _, output = explained(
            tmp_path, capsys, GROUP % (1, ""), there, name="ml/trainer-0", candidate=candidate
        )
        alone = "\n  judged alone: the other members of its group stay where they are\n"
        assert alone in output
    low = LOW.replace("name: low", "name: low-0")
    _, output = explained(tmp_path, capsys, low, name="shop/low-0")
    assert "judged alone" not in output


def said_by(api: str, body: str, number: int = 3) -> str:
    """Members without a schedulingGroup, which say so of their group."""
    body = f"ml, {body}}}"
    group = "schedulingGroup: {podGroupName: trainer},"
    text = members(number).replace("ml}", body).replace(group, "")
    return text + DECLARED.get(api, "")


DECLARED = {
    "scheduling.x-k8s.io/v1alpha1": """
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: trainer, namespace: ml}
spec: {minMember: 3}
""",
    "scheduling.volcano.sh/v1beta1": """
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: trainer, namespace: ml}
spec: {minMember: 3}
""",
}
LABEL = "labels: {scheduling.x-k8s.io/pod-group: trainer}"
OTHERS = [
    pytest.param("scheduling.x-k8s.io/v1alpha1", LABEL, id="scheduler-plugins"),
    pytest.param(
        "annotation", f'{LABEL}, annotations: {{moorage.dev/min-member: "3"}}', id="annotation"
    ),
    pytest.param(
        "scheduling.volcano.sh/v1beta1",
        "annotations: {scheduling.k8s.io/group-name: trainer}",
        id="Volcano",
    ),
    pytest.param(
        "kueue",
        "labels: {kueue.x-k8s.io/pod-group-name: trainer}, "
        'annotations: {kueue.x-k8s.io/pod-group-total-count: "3"}',
        id="Kueue",
    ),
]


@pytest.mark.parametrize(("api", "body"), OTHERS)
def test_members_of_all_apis_are_judged_with_their_group(
    api: str, body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each by itself would fit; the group does not, and what would help it is said."""
    parts = said_by(api, body), LOW
    status, output = explained(tmp_path, capsys, *parts, name="ml/trainer-0")
    assert status == ExitStatus.NO
    assert output.startswith("ml/trainer-0 waits with its group: 2 of 3 members of ml/trainer fi")
    assert "  request    cpu 2 -> 1333m  the group fits" in output
    assert "Preemption would help: it would hit shop/low" in output
    status, output = explained(tmp_path, capsys, said_by(api, body), name="ml/trainer-0")
    assert status == ExitStatus.YES
    assert output.startswith("ml/trainer-0 fits with its group: it would go to n")


@pytest.mark.parametrize(("api", "body"), OTHERS)
def test_what_gates_a_member_itself_comes_first(
    api: str, body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its group could not place it; those that are not gated are told of the group."""
    gated = said_by(api, body).replace("spec: {s", "spec: {schedulingGates: [{name: a}], s", 1)
    status, output = explained(tmp_path, capsys, gated, name="ml/trainer-0")
    assert status == ExitStatus.NO
    assert output.startswith("ml/trainer-0 is gated by SchedulingGates: ")
    status, output = explained(tmp_path, capsys, gated, name="ml/trainer-1")
    assert "is gated by PodGroup" in output
    assert "2 of 3 members are here" in output


def test_groups_that_do_not_count_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside what gates the member."""
    labels = "labels: {kueue.x-k8s.io/pod-group-name: trainer}"
    parts = GROUP % (3, ""), members(2).replace("ml}", f"ml, {labels}}}", 1)
    _, output = explained(tmp_path, capsys, *parts, name="ml/trainer-0")
    assert "2 of 3 members are here; the pod also names ml/trainer (kueue" in output
    _, output = explained(tmp_path, capsys, *parts, name="ml/trainer-1")
    assert "2 of 3 members are here." in output


def test_a_group_of_which_nothing_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no basic group, and has no priority."""
    _, output = explained(tmp_path, capsys, members(1))
    assert "there is no PodGroup ml/trainer (scheduling.k8s.io/v1beta1)" in output
    assert "\n  nothing says how many are needed; 1 member is here (scheduling" in output


def test_placements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each value of the key, the best first."""
    _, output = explained(tmp_path, capsys, GROUP % (3, TOPOLOGY), members(3), LOW)
    assert "\nzone  MEMBERS  REASON\na           2  0/1 nodes" in output
    assert output.startswith("2 of 3 members of ml/trainer find a node in one zone, and 3 are")
    _, output = explained(tmp_path, capsys, CORDONED, GROUP % (3, TOPOLOGY), members(3), LOW)
    assert "\nc           0  0/1 nodes" in output
    assert "\na           2  room for 2 of 3 members at most" in output
    assert output.startswith("2 of 3 members of ml/trainer find a node in one zone at most, and")


@pytest.mark.parametrize(
    ("parts", "status", "said"),
    [
        pytest.param(
            (GROUP % (4, ""), members(3)), ExitStatus.NO, "is gated by PodGroup: waiting", id="gate"
        ),
        pytest.param((GROUP % (4, ""),), ExitStatus.NO, "has no members: no pod", id="nobody"),
        pytest.param(
            (GROUP % (2, ""), members(3)), ExitStatus.YES, "3 of 3 members of pod", id="fits"
        ),
        pytest.param(
            (GROUP % (1, ""), members(1)),
            ExitStatus.YES,
            "1 of 1 members of pod group ml/trainer fit, on 1 node.",
            id="fits-on-one",
        ),
        pytest.param(
            (GROUP % (2, ""), members(1).replace("priority: 5", "nodeName: n1, priority: 5")),
            ExitStatus.YES,
            "The one member of pod group ml/trainer has a node.",
            id="placed",
        ),
        pytest.param(
            (GROUP % (2, ""), members(2).replace("priority: 5", "priority: 6")),
            ExitStatus.NO,
            "cannot be placed: all pods in a single pod group should have the same priority",
            id="error",
        ),
    ],
)
def test_first_lines(
    parts: tuple[str, ...],
    status: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is the matter comes first, and the document holds to its type."""
    ended, output = explained(tmp_path, capsys, *parts)
    assert (ended, said in output.splitlines()[0]) == (status, True), output
    _, output = explained(tmp_path, capsys, *parts, form="json")
    assert said.rstrip(".") in read_output(output)["answer"]
    assert json.loads(output)["podGroup"] == "ml/trainer"


def test_no_such_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a PodGroup nor a pod names it."""
    with pytest.raises(WrongUse, match="there is no pod group ml/trainer"):
        explained(tmp_path, capsys, LOW)
