"""`moorage explain` on files: what it prints, and how it ends."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from moorage.apps.exit_status import ExitStatus, WrongUse
from moorage.apps.explain.explain import ExplainOptions, run
from moorage.apps.printing.amounts import moment
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.core.columns import changes
from moorage.core.objects.pods import on_node
from tests.apps.outputs.reading import read_output
from tests.apps.worlds.recordings import BEGIN, write_recording
from tests.builders import make_node, make_pod

WORLD = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}
spec: {taints: [{key: maintenance, value: planned, effect: NoSchedule}]}
status: {allocatable: {cpu: "16", memory: 64Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: n3, labels: {kubernetes.io/hostname: n3}}
spec: {unschedulable: true}
status: {allocatable: {cpu: "16", memory: 64Gi, pods: "10"}}
"""
POD = """
---
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: shop}
spec: {schedulerName: %s, nodeName: "%s", containers: [{name: c, image: a,
  resources: {requests: {cpu: "%s", memory: %s}}}]}
"""
PODS = [
    ("web", "default-scheduler", "n1", 2, "1Gi"),
    ("big", "default-scheduler", "", 3, "4Gi"),
    ("huge", "default-scheduler", "", 30, "400Gi"),
    ("small", "default-scheduler", "", 1, "1Gi"),
    ("stray", "batchh", "", 1, "1Gi"),
    ("foreign", "volcano", "", 3, "4Gi"),
]
PROFILE = """
---
apiVersion: moorage.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: %s}
spec: {preset: Default, plugins: {filter: {disabled: [{name: %s}]}}}
"""


@pytest.fixture
def options(tmp_path: Path) -> ExplainOptions:
    """For the pods of one cluster."""
    file = tmp_path / "world.yaml"
    batch = "---\napiVersion: moorage.dev/v1alpha1\nkind: SchedulerProfile\n"
    default = "metadata: {name: %s}\nspec: {preset: Default}\n"
    profiles = "".join(batch + default % name for name in ("batch", "default-scheduler"))
    file.write_text(WORLD + "".join(POD % pod for pod in PODS) + profiles)
    return ExplainOptions(name="shop/big", cluster=ClusterChoice(), files=(file,))


def explained(
    options: ExplainOptions, capsys: pytest.CaptureFixture[str], **changes: object
) -> tuple[int, str]:
    """Exit status and output, less what names a revision or a file."""
    changed = dataclasses.replace(options, **changes)  # type: ignore[arg-type]
    status = run(changed)
    output = capsys.readouterr().out
    for file in (*changed.files, *filter(None, [changed.profile])):
        output = output.replace(str(file), file.name)
    return status, output


def test_pending(options: ExplainOptions, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer first, then reasons, then what would help."""
    status, output = explained(options, capsys)
    lines = output.splitlines()
    lines[1] = lines[1].partition("; profile")[0]
    assert status == ExitStatus.NO
    assert (
        "\n".join(lines[:-3]) + "\n"
        == """\
None of 3 nodes takes shop/big; nearest n1 lacks cpu 1.
  asks cpu 3, memory 4Gi

NODES  PLUGIN             REASON
    1  NodeResourcesFit   Insufficient cpu; nearest n1 lacks 1
    1  TaintToleration    had untolerated taint(s): maintenance=planned:NoSchedule
    1  NodeUnschedulable  were unschedulable

WOULD HELP (each tried by deciding again; no smaller change of its kind does)
  request     cpu 3 -> 2                      fits n1
  toleration  maintenance=planned:NoSchedule  fits n2
  add nodes   1 like n1
  add nodes   1 like n3
"""
    )
    assert lines[-2].startswith("Preemption does not help: 0/3 nodes are available: 1 No preem")
    assert lines[-1].startswith("Would be tried again when a pod leaves a node or changes, a node")


def test_two_changes(options: ExplainOptions, capsys: pytest.CaptureFixture[str]) -> None:
    """Where one is not enough."""
    status, output = explained(options, capsys, name="shop/huge")
    assert status == ExitStatus.NO
    assert "No single change helps; two together do" in output
    assert "  request + request  cpu 30 -> 2 + memory 400Gi -> 7Gi  fits n1\n" in output


def test_all_changes_are_shown_where_they_are_asked_for(
    options: ExplainOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else as many as are read at a glance."""
    document = read_output(explained(options, capsys, form="json")[1])
    assert len(document["changes"]) == 4
    assert all(change["verified"] for change in document["changes"])
    assert document["changes"][0]["patch"] == [
        {
            "op": "replace",
            "path": "/spec/containers/0/resources/requests/cpu",
            "value": "2",
        }
    ]
    assert document["refusals"][0]["nearest"] == [
        {"node": "n1", "lacks": {"cpu": "1"}, "details": [], "heldFor": []}
    ]
    assert (document["kind"], document["verdict"]) == ("PodExplanation", "Pending")


def test_bound(options: ExplainOptions, capsys: pytest.CaptureFixture[str]) -> None:
    """Scores, and who refused the others."""
    status, output = explained(options, capsys, name="shop/web")
    assert status == ExitStatus.YES
    lines = output.splitlines()
    assert lines[0] == "shop/web is on n1, the node with the highest score now."
    assert lines[3].split() == ["n1", "*"]
    assert lines[4].split() == ["TaintToleration", "x3", "300"]
    assert lines[-2] == (
        "1 node passed, 2 were refused: 1 had untolerated taint(s), 1 were unschedulable."
    )


def test_under_a_candidate(
    options: ExplainOptions, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What changes, and what folds."""
    candidate = tmp_path / "candidate.yaml"
    candidate.write_text(PROFILE % ("default-scheduler", "TaintToleration"))
    status, output = explained(options, capsys, profile=candidate)
    assert status == ExitStatus.YES
    lines = output.splitlines()
    text = "Would be placed on n2 under candidate.yaml (default-scheduler). 1 of 3 reasons is gone."
    assert lines[0] == text
    assert lines[3:6] == [
        "NODES NOW  NODES THEN  PLUGIN           REASON",
        "        1           -  TaintToleration  had untolerated taint(s)",
        "        2           2  2 more           unchanged",
    ]
    assert lines[-1] == "Differs: TaintToleration"
    candidate.write_text(PROFILE % ("default-scheduler", "TaintTolerations"))
    with pytest.raises(WrongUse, match="did you mean"):
        explained(options, capsys, profile=candidate)
    candidate.write_text(PROFILE % ("a", "DefaultPreemption") + PROFILE % ("b", "NodePorts"))
    with pytest.raises(WrongUse, match="no SchedulerProfile for schedulerName"):
        explained(options, capsys, profile=candidate)


def test_from_a_recording(
    options: ExplainOptions, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A moment of it: the pod was pending then, and is bound at the end."""
    pod, node = (
        make_pod("a", scheduler_name="default-scheduler"),
        make_node("n", unschedulable=True),
    )
    file = write_recording(
        tmp_path / "a.rec",
        [changes.NodePut(node), changes.PodWaiting(pod)],
        (2, changes.PodObserved(on_node(pod, "n"))),
    )
    told = {"files": (file,), "name": "default/a"}
    status, output = explained(options, capsys, **told, at=moment(BEGIN + 1))
    assert status == ExitStatus.NO
    assert output.startswith("The only node does not take default/a.")
    assert f"from a.rec, as it was at {moment(BEGIN + 1)}" in output
    assert explained(options, capsys, **told)[0] == ExitStatus.YES


@pytest.mark.parametrize(
    ("pod", "status", "text"),
    [
        ("small", ExitStatus.YES, "shop/small fits: it would go to n1."),
        (
            "stray",
            ExitStatus.NO,
            "shop/stray waits: no SchedulerProfile decides for 'batchh'; did you mean \"batch\"?",
        ),
        ("foreign", ExitStatus.NO, "None of 3 nodes takes shop/foreign; nearest n1 lacks cpu 1."),
    ],
)
def test_other_answers(
    options: ExplainOptions, capsys: pytest.CaptureFixture[str], pod: str, status: int, text: str
) -> None:
    """Line 1, and the exit status."""
    ended, output = explained(options, capsys, name=f"shop/{pod}")
    assert (ended, output.splitlines()[0]) == (status, text)
    assert ("volcano is not ours: as preset Default has it" in output) == (pod == "foreign")


@pytest.mark.parametrize(
    ("pod", "meant"),
    [
        ("shop/foreigm", '; did you mean "shop/foreign"?'),
        ("default/foreign", '; did you mean "shop/foreign"?'),
        ("shp/other", '; did you mean "shop/"?'),
        ("shop/nobody", ""),
    ],
)
def test_an_unknown_pod(
    options: ExplainOptions, capsys: pytest.CaptureFixture[str], pod: str, meant: str
) -> None:
    """What was typed means nothing; what is near is told."""
    with pytest.raises(WrongUse) as told:
        explained(options, capsys, name=pod)
    assert str(told.value).startswith(f"there is no pod {pod}{meant}; from ")


def test_a_pod_that_nobody_tries(
    options: ExplainOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is being deleted, or its profile is suspended: no node is said anything of."""
    leaves = POD % ("leaves", "default-scheduler", "", 1, "1Gi")
    leaves = leaves.replace(
        "{name: leaves,", "{name: leaves, deletionTimestamp: 2026-11-27T00:00:00Z,"
    )
    rests = POD % ("rests", "idle", "", 1, "1Gi")
    runs = POD % ("runs", "idle", "n1", 1, "1Gi")
    idle = (PROFILE % ("idle", "NodePorts")).replace("spec: {", "spec: {suspend: true, ")
    early = POD % ("early", "unready", "", 1, "1Gi")
    unready = PROFILE % ("unready", "NodePorts") + (
        "status: {activeRevision: r, desiredRevision: r, conditions: [{type: Active,"
        " status: 'False', reason: Waiting, message: nodes are not up to date yet}]}\n"
    )
    file = tmp_path / "more.yaml"
    holds = "the SchedulerProfile that decides for"
    file.write_text(WORLD + leaves + rests + runs + idle + early + unready)
    for pod, verdict, words in (
        ("leaves", "BeingDeleted", "it is being deleted, and will not be placed"),
        ("rests", "Suspended", f"{holds} 'idle' is suspended"),
        (
            "early",
            "ProfileWaiting",
            f"{holds} 'unready' is not ready: nodes are not up to date yet",
        ),
    ):
        status, output = explained(options, capsys, name=f"shop/{pod}", files=(file,))
        assert (status, output) == (ExitStatus.NO, f"shop/{pod} waits: {words}\n")
        _, output = explained(options, capsys, name=f"shop/{pod}", files=(file,), form="json")
        assert read_output(output)["verdict"] == verdict
    status, output = explained(options, capsys, name="shop/runs", files=(file,))
    assert (status, output.split(",")[0]) == (ExitStatus.YES, "shop/runs is on n1")


@pytest.mark.parametrize(("preset", "node"), [("NoScoring", "n1"), ("Default", "gone")])
def test_odd_bound_pods(
    options: ExplainOptions,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    preset: str,
    node: str,
) -> None:
    """Nothing scores, or the node is not there."""
    file = tmp_path / "odd.yaml"
    profile = (PROFILE % ("odd", "NodePorts")).replace("preset: Default", f"preset: {preset}")
    file.write_text(WORLD + POD % ("p", "odd", node, 1, "1Gi") + profile)
    status, output = explained(options, capsys, name="shop/p", files=(file,))
    assert status == ExitStatus.YES
    gone = "gone, which is not there any more; now it would go to n1." if node == "gone" else node
    assert output.startswith(f"shop/p is on {gone}")
