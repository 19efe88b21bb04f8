"""Worlds from files: what people write and what kubectl writes, completed and read."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from moorage.apps.exit_status import ExitStatus, NoAnswer, WrongUse
from moorage.apps.worlds.deciding import in_tree_resolver
from moorage.apps.worlds.from_files import from_files
from moorage.apps.worlds.world import World
from moorage.core.cycle import cycle
from moorage.core.cycle.context import ScheduleResult
from moorage.core.objects.pod_groups import API, CoschedulingPodGroup, PodGroup
from moorage.core.objects.storage import StorageClass

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}}
"""
GROUP = """
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: g}
spec: {priorityClassName: vip, schedulingPolicy: {gang: {minCount: 2}}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c, image: i, resources: {limits: {cpu: "1"}}}]}
"""
PROFILE = """
apiVersion: moorage.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: tight}
spec:
  preset: BinPack
  pluginConfig: [{name: NodeResourcesFit, configRef: {name: fit}}]
"""
CONFIG = """
apiVersion: moorage.dev/v1alpha1
kind: PluginConfig
metadata: {name: fit}
spec: {plugin: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}
"""


def world(folder: Path, *texts: str) -> World:
    """The world of a folder with these files."""
    for number, text in enumerate(texts):
        (folder / f"{number}.yaml").write_text(text)
    return from_files([folder], in_tree_resolver())


def test_a_pod_of_a_manifest_can_be_decided(tmp_path: Path) -> None:
    """With what an API server would have filled in; without a profile it is preset Default."""
    made = world(tmp_path, NODE, POD)
    (pod,) = made.context.cache.waiting.values()
    assert pod.metadata.uid == "default/a"
    assert pod.spec.scheduler_name == "default-scheduler"
    assert pod.spec.containers is not None and pod.spec.containers[0].resources is not None
    assert pod.spec.containers[0].resources.requests == {"cpu": "1"}
    decided = cycle.decide(pod, made.profiles[pod.spec.scheduler_name], made.context)
    assert isinstance(decided, ScheduleResult)
    assert decided.node == "n1"
    assert (made.origin, made.warnings) == (str(tmp_path), ())


def test_profiles_are_resolved_with_their_configs(tmp_path: Path) -> None:
    """Those of the files, and no others."""
    made = world(tmp_path, NODE, PROFILE, CONFIG)
    assert list(made.profiles) == ["tight"]
    fit: Any = made.profiles["tight"].deciders["NodeResourcesFit"]
    assert fit.args.scoring_strategy.type == "MostAllocated"


def test_what_kubectl_writes_is_as_it_is(tmp_path: Path) -> None:
    """A List, as JSON: nothing is filled in, and what has ended takes no room."""
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": f"u-{name}"},
            "spec": {"nodeName": "n1", "schedulerName": "x", "containers": []},
            "status": {"phase": phase},
        }
        for name, phase in (("runs", "Running"), ("ended", "Succeeded"))
    ]
    (tmp_path / "pods.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
    )
    made = world(tmp_path)
    assert [info.pod.metadata.uid for info in made.context.cache.pod_infos()] == ["u-runs"]


def test_items_of_a_list_of_one_kind_need_not_say_what_they_are(tmp_path: Path) -> None:
    """As the API server itself answers."""
    text = "{apiVersion: storage.k8s.io/v1, kind: StorageClassList, items: [{metadata: {name: s}}]}"
    made = world(tmp_path, text)
    assert list(made.context.cache.store.objects(StorageClass)) == ["s"]


def test_priorities_come_from_their_classes(tmp_path: Path) -> None:
    """Those of the files, the system's own, and the global default."""
    classes = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: low}
value: 7
globalDefault: true
"""
    named = POD.replace("spec: {", "spec: {priorityClassName: system-node-critical, ")
    made = world(tmp_path, classes, POD, named.replace("name: a", "name: b"))
    found = {pod.metadata.name: pod.spec.priority for pod in made.context.cache.waiting.values()}
    assert found == {"a": 7, "b": 2_000_001_000}
    assert not made.warnings


def test_pod_groups_have_their_class_s_priority(tmp_path: Path) -> None:
    """Of Kubernetes' own; one of another API may have the same name."""
    named = "kind: PodGroup, metadata: {name: g}"
    theirs = f"{{apiVersion: scheduling.x-k8s.io/v1alpha1, {named}, spec: {{minMember: 2}}}}"
    spec = "{priorityClassName: system-node-critical, schedulingPolicy: {basic: {}}}"
    made = world(tmp_path, theirs, f"{{apiVersion: {API}, {named}, spec: {spec}}}")
    store = made.context.cache.store
    assert store.objects(PodGroup)["default/g"].spec.priority == 2_000_001_000
    assert store.objects(CoschedulingPodGroup)["default/g"].spec.min_member == 2
    assert not made.warnings


def test_kinds_that_no_plugin_reads_are_said(tmp_path: Path) -> None:
    """Nobody is to think that they count."""
    secret = "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {key: c2VjcmV0}}"
    made = world(tmp_path, NODE, secret, secret)
    assert made.warnings == ("passed over: Secret of v1, 2 times",)


def test_an_object_that_cannot_count_is_said(tmp_path: Path) -> None:
    """As the operator sets it aside."""
    made = world(tmp_path, NODE.replace('cpu: "4"', "cpu: much"))
    (warning,) = made.warnings
    assert warning.startswith("Node n1 is left out of account: ")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("{apiVersion: v1, kind: Pod}", "metadata.name: Required", id="no name"),
        pytest.param(POD + "---" + POD, "stands here twice", id="twice"),
        pytest.param("a: b: c", "not readable as YAML", id="no YAML"),
        pytest.param("- 1", "document 1 is no object", id="no object"),
        pytest.param(POD.replace('cpu: "1"', "cpu: much"), "quantities must match", id="quantity"),
        pytest.param(POD.replace("containers: [", "containers: [7, "), "spec: ", id="container"),
        pytest.param(
            POD.replace("spec: {", "spec: {priorityClassName: vip, "),
            "no PriorityClass",
            id="class",
        ),
        pytest.param(GROUP, "spec.priorityClassName: 'vip': there is no", id="class of a group"),
        pytest.param(PROFILE, "there is no PluginConfig of this name", id="profile"),
        pytest.param(
            NODE.replace("status:", "status: []\nspec:"), "status: must be an object", id="node"
        ),
    ],
)
def test_what_means_nothing_is_wrong_use(tmp_path: Path, text: str, want: str) -> None:
    """Said with file, document and field."""
    with pytest.raises(WrongUse, match=want) as raised:
        world(tmp_path, text)
    assert raised.value.status is ExitStatus.WRONG_USE


def test_many_faults_are_cut(tmp_path: Path) -> None:
    """A file of another kind must not fill the screen."""
    with pytest.raises(WrongUse, match="and 10 more"):
        world(tmp_path, "\n---\n".join(["{apiVersion: v1, kind: Pod}"] * 30))


def test_a_file_that_is_not_there_is_no_answer() -> None:
    """It may have been there yesterday."""
    with pytest.raises(NoAnswer, match=r"nowhere\.yaml cannot be read: No such file") as raised:
        from_files([Path("nowhere.yaml")], in_tree_resolver())
    assert raised.value.status is ExitStatus.NO_ANSWER


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    """As other tools have it."""
    monkeypatch.setattr("sys.stdin", io.StringIO(NODE))
    made = from_files([Path("-")], in_tree_resolver())
    assert (made.origin, list(made.context.cache.nodes.row_of)) == ("stdin", ["n1"])
