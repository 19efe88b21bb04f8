"""What plugins see of the cache is for reading: a type checker refuses a plugin that writes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from moorage.core.columns.grouped_pods import GroupedPods
from moorage.core.columns.nodes.image_table import ImageTable
from moorage.core.columns.nodes.label_columns import LabelColumn, LabelTable
from moorage.core.columns.nodes.node_columns import (
    HostPortsInUse,
    LabelCodes,
    NodeColumns,
    NodeImages,
    NodeLabels,
)
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.columns.nodes.port_table import PortTable
from moorage.core.columns.nominations import Nominator
from moorage.core.columns.pod_counters import PodCounters, RowCounter
from moorage.core.columns.priorities import PriorityTable
from moorage.core.columns.store import Lister, Store
from moorage.core.columns.views import (
    GroupedPodsView,
    NominatorView,
    PodCountersView,
    PrioritiesView,
    RowCounts,
    VolumeColumns,
)
from moorage.core.columns.volume_table import VolumeTable

ROOT = Path(__file__).parents[3]
PLUGIN = "from typing import Any\nfrom moorage.plugin_api import Snapshot\n"
READS = [
    "snapshot.nodes.allocatable[0][rows] - snapshot.nodes.requested[0][rows]",
    'snapshot.nodes.labels.column("zone").codes[rows]',
    'snapshot.nodes.images.holders("nginx")',
    "snapshot.nodes.ports.conflicts(pod)",
    "snapshot.volumes.clashing(pod)",
    "list(snapshot.pod_counters.existing_terms_matching(pod))",
    "snapshot.matching(pod).per_row(snapshot.nodes.rows)",
    "snapshot.priorities.below(0, snapshot.nodes.rows)",
    "snapshot.nominations.nominated_node(pod.metadata.uid)",
    "snapshot.store.objects(type(pod))",
    "snapshot.budget.over",
]
WRITES = [
    "snapshot.nodes.put(pod)",
    'snapshot.nodes.remove("n1")',
    "snapshot.nodes.charge(0, pod, 1)",
    'snapshot.nodes.row_of.pop("n1")',
    "snapshot.nodes.names.clear()",
    "snapshot.nodes.logs[0].add(0)",
    "snapshot.nodes.rows = 0",
    "snapshot.nodes.requested = pod",
    "snapshot.nodes = pod",
    "snapshot.nodes.labels.put(0, {})",
    'snapshot.nodes.labels.column("zone").put(0, "a")',
    "snapshot.nodes.images.put(0, 'n', ())",
    "snapshot.nodes.ports.charge(0, (), 1)",
    "snapshot.nodes.resources.charge(0, pod, 0, 1, 1)",
    "snapshot.volumes.charge(0, pod, 1)",
    "snapshot.volumes.uses.increment()",
    "snapshot.pod_counters.charge(0, pod, 1)",
    "snapshot.matching(pod).add(0, 1)",
    "snapshot.priorities.charge(0, pod, 1)",
    'snapshot.nominations.nominate(pod, "n1")',
    "snapshot.nominations.remove(pod.metadata.uid)",
    "snapshot.store.put(pod)",
]


def test_a_type_checker_lets_a_plugin_read_and_not_write(tmp_path: Path) -> None:
    """Each case is a line, so that an error's line says which one it is of."""
    cases = READS + WRITES
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        PLUGIN
        + "".join(
            f"def case{i}(snapshot: Snapshot, pod: Any, rows: slice) -> None: {case}\n"
            for i, case in enumerate(cases)
        )
    )
    checked = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            ROOT / "pyproject.toml",
            "--cache-dir",
            tmp_path / "cache",
            plugin,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    errors = re.findall(r"plugin\.py:(\d+): error", checked.stdout)
    lines = {int(line) - PLUGIN.count("\n") - 1 for line in errors}
    assert [cases[line] for line in sorted(lines)] == WRITES, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("table", "view", "hidden"),
    [
        (
            NodeTable,
            NodeColumns,
            {"put", "remove", "charge", "try_out", "reset", "mark_devices_changed"},
        ),
        (LabelTable, NodeLabels, {"put"}),
        (LabelColumn, LabelCodes, {"put"}),
        (ImageTable, NodeImages, {"put"}),
        (PortTable, HostPortsInUse, {"charge"}),
        (VolumeTable, VolumeColumns, {"charge", "charge_node"}),
        (PodCounters, PodCountersView, {"charge", "matching"}),
        (RowCounter, RowCounts, {"add"}),
        (PriorityTable, PrioritiesView, {"charge", "move"}),
        (GroupedPods, GroupedPodsView, {"charge", "touch"}),
        (
            Nominator,
            NominatorView,
            {"nominate", "observe_status", "lapse", "add", "remove", "unwritten"}
            | {"states", "state", "restore", "try_out", "resume", "settle"},
        ),
        (Store, Lister, {"put", "remove", "follow", "all_objects"}),
    ],
)
def test_a_view_shows_all_but_what_writes(table: type, view: type, hidden: set[str]) -> None:
    """So that a method which comes later is either shown or named here."""
    assert public(table) - public(view) == hidden


def public(kind: type) -> set[str]:
    """The methods and properties of a class that have no leading underscore."""
    return {
        name
        for base in kind.__mro__
        for name, value in vars(base).items()
        if not name.startswith("_") and (callable(value) or isinstance(value, property))
    }
