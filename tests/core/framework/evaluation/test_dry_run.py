"""What if: rows are asked as they would be, each for itself, with the pods nominated to them, and
are afterwards as before.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.pod_info import PodBatch
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.evaluation.dry_run import FilterDryRun
from moorage.core.framework.evaluation.plugin_result import PluginResult
from moorage.core.framework.interfaces import Codes, PreFilterExtensions, PreFilterResult
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason
from moorage.core.objects.pods import Pod
from moorage.core.plugins.node_ports import NodePorts
from moorage.core.plugins.node_resources.fit import NodeResourcesFit
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod

CROWDED = Reason("Crowded", "node(s) had {} kin", Code.UNSCHEDULABLE)


@dataclasses.dataclass(frozen=True)
class Lonely:
    """Refuses nodes that have kin of the pod; its state is how many of them each row has."""

    name: ClassVar[str] = "Lonely"
    events_to_register: ClassVar[tuple[()]] = ()
    reads: ClassVar[frozenset[Aspect]] = frozenset()

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """Nobody is kin to a pod named hermit."""
        kin = {
            row: len([one for one in snapshot.pods_on(name) if _kin(one.pod)])
            for name, row in snapshot.nodes.row_of.items()
        }
        return PreFilterResult(SKIP if pod.metadata.name == "hermit" else SUCCESS, kin)

    def filter(self, state: dict[int, int], snapshot: Snapshot, rows: Rows) -> Codes:
        """How many there are."""
        return np.array(
            [state[row] for row in np.arange(snapshot.nodes.rows)[rows].tolist()], np.int64
        )

    def explain(self, state: dict[int, int], code: int) -> tuple[tuple[Reason, str], ...]:
        """So many."""
        return ((CROWDED, str(code)),)

    def adjust(
        self, state: dict[int, int], other: Pod, row: int, sign: int, snapshot: Snapshot
    ) -> dict[int, int]:
        """One more or less on this row; a stranger changes nothing."""
        return {**state, row: state[row] + sign} if _kin(other) else state


def _kin(pod: Any) -> bool:
    return bool(pod.metadata.name.startswith("kin"))


_adjusting: PreFilterExtensions = Lonely()

NEW = make_pod("new", cpu="2", priority=5)


def cache_of(*pods: Pod, nodes: int = 3) -> Cache:
    """Nodes n0, n1, … with 4 CPUs each, and these pods: on their nodes, or nominated to a node by
    their status.
    """
    cache = Cache()
    for i in range(nodes):
        cache.put_node(make_node(f"n{i}"))
    for pod in pods:
        if pod.spec.node_name:
            cache.observe(pod, pod_requests(pod))
        else:
            cache.nominations.add(pod, pod.status.nominated_node_name, pod_requests(pod))
    return cache


def what_if(cache: Cache, pod: Pod = NEW) -> FilterDryRun:
    """For a pod that NodePorts, NodeResourcesFit and Lonely have a say about, in this order."""
    snapshot = Snapshot(cache)
    columns = {}
    for plugin in (NodePorts(), NodeResourcesFit(), Lonely()):
        column = columns[plugin.name] = PluginResult(plugin, pod, plugin.filter, plugin.pre_filter)
        column.prepare(pod, snapshot)
        if column.applies:
            column.refresh(snapshot)
    return FilterDryRun(pod, columns, snapshot)


def herd_of(cache: Cache, *names: str) -> PodBatch:
    """These pods of the cache."""
    return PodBatch(
        [record for name in names if (record := cache.pod_info(f"uid-{name}"))], cache.nodes
    )


def every(batch: PodBatch) -> Any:
    """All places of a batch."""
    return np.arange(len(batch.records))


def refused(supposed: FilterDryRun, *rows: int) -> dict[int, str]:
    """The reasons of the rows that are refused, all of them asked unless some are named."""
    answers = supposed.run_filters(np.array(rows or (0, 1, 2), np.intp))
    return {
        row: answer.why[0][0].text.replace("{}", answer.why[0][1])
        for row, answer in answers.items()
    }


def nominated(name: str, node: str, cpu: str, priority: int) -> Pod:
    """A waiting pod that is nominated to a node."""
    pod = make_pod(name, cpu=cpu, priority=priority)
    return msgspec.structs.replace(
        pod, status=msgspec.structs.replace(pod.status, nominated_node_name=node)
    )


def test_rows_are_asked_side_by_side() -> None:
    """Pods taken off change their own rows, for plugins that look at a row and for one whose state
    spans all.
    """
    cache = cache_of(
        make_pod("big0", cpu="3", node="n0"),
        make_pod("big1", cpu="3", node="n1"),
        make_pod("kin2", node="n2"),
    )
    with what_if(cache) as supposed:
        assert refused(supposed) == {
            0: "Insufficient cpu",
            1: "Insufficient cpu",
            2: "node(s) had 1 kin",
        }
        batch = herd_of(cache, "big0", "kin2", "big1")
        supposed.remove(batch, np.array([0, 1]))
        assert refused(supposed) == {1: "Insufficient cpu"}
        assert refused(supposed, 2) == {}
        supposed.remove(batch, np.array([2]))
        assert refused(supposed) == {}
        supposed.add(batch, every(batch))
        assert refused(supposed) == {
            0: "Insufficient cpu",
            1: "Insufficient cpu",
            2: "node(s) had 1 kin",
        }


@pytest.mark.parametrize("fails", [False, True], ids=["ends well", "fails"])
def test_everything_is_as_before(fails: bool) -> None:
    """Rows and plugins' states, whatever happened."""
    cache = cache_of(make_pod("big", cpu="3", node="n0"), make_pod("kin", node="n1"))
    supposed = what_if(cache)
    with contextlib.suppress(RuntimeError), supposed:
        batch = herd_of(cache, "big", "kin")
        supposed.remove(batch, every(batch))
        assert refused(supposed) == {}
        if fails:
            raise RuntimeError
    with supposed:
        assert refused(supposed) == {0: "Insufficient cpu", 1: "node(s) had 1 kin"}


def test_the_first_plugin_that_refuses_is_named() -> None:
    """In the profile's order; the next one, once that is content."""
    cache = cache_of(make_pod("kin", cpu="3", node="n0"), make_pod("big", cpu="1", node="n0"))
    with what_if(cache) as supposed:
        assert {
            row: answer.filter_index
            for row, answer in supposed.run_filters(np.array([0, 1])).items()
        } == {0: 1}
        batch = herd_of(cache, "big")
        supposed.remove(batch, every(batch))
        assert refused(supposed) == {0: "Insufficient cpu"}
        supposed.remove(kin := herd_of(cache, "kin"), every(kin))
        assert refused(supposed) == {}


def test_a_plugin_that_skipped_is_left_out() -> None:
    """It has no say about the pod, whatever comes or goes."""
    cache = cache_of(make_pod("kin", node="n0"))
    with what_if(cache, make_pod("hermit")) as supposed:
        assert refused(supposed) == {}


@pytest.mark.parametrize(
    ("guest", "expected"),
    [
        pytest.param(
            nominated("g", "n0", "3", 5), {0: "Insufficient cpu"}, id="of the same priority"
        ),
        pytest.param(nominated("g", "n0", "3", 9), {0: "Insufficient cpu"}, id="of a higher one"),
        pytest.param(nominated("g", "n0", "3", 4), {}, id="of a lower one"),
        pytest.param(nominated("g", "n0", "2", 9), {}, id="with room for both"),
        pytest.param(
            nominated("kin", "n0", "1", 9),
            {0: "node(s) had 1 kin"},
            id="that a plugin's state must know of",
        ),
        pytest.param(nominated("new", "n0", "3", 9), {}, id="the pod itself"),
        pytest.param(nominated("g", "gone", "3", 9), {}, id="to a node that is not there"),
    ],
)
def test_nominated_pods_are_heeded(guest: Pod, expected: dict[int, str]) -> None:
    """A row must pass with those that go first."""
    with what_if(cache_of(guest)) as supposed:
        assert refused(supposed) == expected


def test_a_row_must_pass_without_nominated_pods_too() -> None:
    """They are not there yet; what is said with them counts, if they are in the way as well."""
    cache = cache_of(
        make_pod("kin", node="n0"),
        nominated("g", "n0", "1", 9),
        nominated("h", "n1", "3", 9),
        make_pod("kin1", node="n1"),
    )
    with what_if(cache) as supposed:
        assert refused(supposed) == {0: "node(s) had 1 kin", 1: "Insufficient cpu"}


def test_two_pods_with_one_host_port_both_hold_it() -> None:
    """Taking one away does not free it; kube-scheduler thinks so."""
    port = {"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}
    one, two, new = (
        msgspec.convert(
            {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": {**port, "nodeName": node}},
            Pod,
        )
        for name, node in (("one", "n0"), ("two", "n0"), ("new", ""))
    )
    cache = cache_of(one, two)
    with what_if(cache, new) as supposed:
        batch = herd_of(cache, "one", "two")
        supposed.remove(batch, np.array([0]))
        assert refused(supposed) == {
            0: "node(s) didn't have free ports for the requested pod ports"
        }
        supposed.remove(batch, np.array([1]))
        assert refused(supposed) == {}
