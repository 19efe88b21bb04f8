"""The node table: every fact about nodes that a plugin reads, as parallel arrays over rows.

A row belongs to one node from ``put`` to ``remove``; then it is free and may be given to another
node. Rows up to ``rows`` have been used; arrays are longer (capacity) and grow by doubling, so
fetch an array from the table each time and slice it by rows. All arrays are read-only views: only
this module's methods write, and each write notes the row in the log of its aspect.

======================  ======  =================  =================================================
array                   dtype   shape              meaning of element ``[.., row]``
======================  ======  =================  =================================================
``live``                bool    [capacity]         the row has a node. Where False, all that follows
                                                   is arbitrary.
``allocatable``         int64   [BASIC, capacity]  status.allocatable of the resources that every
                                                   node has; cpu in millicores, else in units of the
                                                   resource (bytes, pieces)
``requested``           int64   [BASIC, capacity]  sum over the node's pods, assumed ones included;
                                                   PODS counts them
``non_zero_requested``  int64   [2, capacity]      cpu and memory requested with defaults for
                                                   containers without
``unschedulable``       bool    [capacity]         spec.unschedulable
``taint_set``           int32   [capacity]         index into ``taint_sets``
``tie_break``           uint64  [capacity]         a hash of the node's name, for
                                                   ``structures.tie_breaking``
======================  ======  =================  =================================================

Labels, host ports, images and all other resources have tables of their own that share the row
numbers (``labels``, ``ports``, ``images``, ``resources``). ``amounts`` reads a resource wherever it
is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import Aspect, ChangeLog, ChangeReader
from moorage.core.columns.nodes.image_table import ImageTable
from moorage.core.columns.nodes.label_columns import LabelTable
from moorage.core.columns.nodes.port_table import PortTable
from moorage.core.columns.nodes.zones import NodeOrder
from moorage.core.objects.nodes import Node, NodeSpec, Taint
from moorage.core.pods.requests import BASIC, CPU, MEMORY, PODS, Requests, allocatable_amounts
from moorage.core.structures.all_or_none import all_or_none
from moorage.core.structures.growing import grown
from moorage.core.structures.numbering import Numbering
from moorage.core.structures.sparse import HAS, TAKEN, Amounts, SparseAmounts
from moorage.core.structures.tie_breaking import name_hash

__all__ = ["Aspect", "NodeTable", "Rows"]

Rows: TypeAlias = npt.NDArray[np.intp] | slice
"""Row numbers, or a slice over all rows in use."""

_INITIAL_ROWS = 64
MAX_RESOURCES_CHARGED_SINGLY = 1000
"""Resources of one pod beyond which they are charged in one lump."""


class NodeTable:
    """A row for each node in arrays, and what it takes to keep them."""

    def __init__(self) -> None:
        self.rows = 0
        self.all_rows = slice(0, 0)
        """All rows that have been used."""
        self.row_of: dict[str, int] = {}
        self.names: list[str] = []
        self.nodes: list[Node | None] = []
        self.logs = tuple(ChangeLog() for _ in Aspect)
        self.labels = LabelTable()
        self.ports = PortTable()
        self.images = ImageTable()
        self.resources = SparseAmounts()
        self.order = NodeOrder()
        self._taints: Numbering[tuple[Taint, ...]] = Numbering(())
        self._free: list[int] = []
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._reserve(_INITIAL_ROWS)

    # ---- reading ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self.row_of)

    @property
    def taint_sets(self) -> list[tuple[Taint, ...]]:
        """The sets of taints that nodes have, by number."""
        return self._taints.values

    def amounts(self, resource: str, rows: Rows) -> tuple[Amounts, Amounts] | None:
        """What each of these rows has of a resource and what is requested of it; None when that is
        nothing on all nodes.
        """
        index = BASIC.get(resource)
        if index is None:
            return self.resources.read(resource, rows, self.rows)
        return self.allocatable[index][rows], self.requested[index][rows]

    def amounts_at(self, resource: str, row: int) -> tuple[int, int]:
        """The same for one row."""
        index = BASIC.get(resource)
        return (
            self.resources.at(resource, row)
            if index is None
            else (int(self.allocatable[index, row]), int(self.requested[index, row]))
        )

    def is_resource(self, name: str) -> bool:
        """Whether a node has any of this resource: what pods alone name is none."""
        return name in BASIC or self.resources.anybody_has(name)

    def amounts_on(self, row: int) -> dict[str, tuple[int, int]]:
        """What a row has of every resource and what is requested of it; of others than the basic
        ones only what is not 0.
        """
        basic = zip(self.allocatable[:, row].tolist(), self.requested[:, row].tolist(), strict=True)
        return {**dict(zip(BASIC, basic, strict=True)), **self.resources.on(row)}

    def reader(self, aspects: frozenset[Aspect]) -> ChangeReader:
        """A reader that has seen nothing yet."""
        return ChangeReader(self.logs, aspects)

    # ---- nodes -----------------------------------------------------------------------------------

    def put(self, node: Node) -> int:
        """Add a node, or write down what an update changed; returns its row. If it raises
        (QuantityError), nothing is changed.
        """
        amounts = allocatable_amounts(node)
        name = node.metadata.name
        row = self.row_of.get(name)
        old = None if row is None else self.nodes[row]
        row = self._occupy(name) if row is None else row
        try:
            self._write(row, old, node, amounts)
        except BaseException:
            if old is None:
                self.remove(name)
            else:
                self._write(row, node, old, allocatable_amounts(old))
            raise
        return row

    def remove(self, name: str) -> None:
        """Free the row of a node that has no pods. Raises KeyError for an unknown name; if anything
        raises, nothing is changed.
        """
        row = self.row_of[name]
        node = self.nodes[row]
        self._mark_all_changed(row)
        try:
            self.labels.put(row, {})
            self.images.put(row, name, ())
            self._put_amounts(row, {})
            self._put_taints(row, NodeSpec())
            self.order.remove(name)  # last: a node that is put back would be at the end
        except BaseException:
            if node is not None:
                self._write(row, node, node, allocatable_amounts(node))
            raise
        del self.row_of[name]
        self.names[row] = ""
        self.nodes[row] = None
        self._live[row] = False
        self._free.append(row)

    def mark_devices_changed(self, names: Iterable[str]) -> None:
        """The devices that these nodes can reach have changed (``devices.ledger`` has them);
        unknown nodes are left out.
        """
        for name in names:
            if name in self.row_of:
                self.logs[Aspect.DEVICES].add(self.row_of[name])

    # ---- pods on nodes ---------------------------------------------------------------------------

    def charge(self, row: int, requests: Requests, sign: int) -> None:
        """Add (``sign`` 1) or take away (-1) what one pod asks for."""
        self.logs[Aspect.RESOURCES].add(row)
        if requests.ports:
            self.logs[Aspect.PORTS].add(row)
        if len(requests.others) > MAX_RESOURCES_CHARGED_SINGLY:
            lump = dict(requests.others)
            storage = lump.pop("ephemeral-storage", 0)
            many = (
                (self.resources.charge_lump, row, lump),
                (self._charge_other, row, "ephemeral-storage", storage),
            )
            all_or_none(sign, *many, (self.ports.charge, row, requests.ports))
        elif requests.others or requests.ports:
            others = (
                (self._charge_other, row, resource, amount) for resource, amount in requests.others
            )
            all_or_none(sign, *others, (self.ports.charge, row, requests.ports))
        requested = self._requested
        requested[CPU, row] += sign * requests.cpu
        requested[MEMORY, row] += sign * requests.memory
        requested[PODS, row] += sign
        self._non_zero_requested[0, row] += sign * requests.nonzero_cpu
        self._non_zero_requested[1, row] += sign * requests.nonzero_memory

    def try_out(
        self,
        rows: npt.NDArray[np.intp],
        amounts: npt.NDArray[np.int64],
        nonzero: npt.NDArray[np.int64],
    ) -> None:
        """Add to what is requested: int64[BASIC, n] and int64[2, n] for n pods on these rows
        (repeated for several on one).

        No log notes it: it must be taken back, by ``reset``, before anybody catches up. Of other
        resources, ``resources`` is told.
        """
        for target, source in ((self._requested, amounts), (self._non_zero_requested, nonzero)):
            for into, each in zip(target, source, strict=True):
                if each.any():
                    np.add.at(into, rows, each)

    def reset(self, requested: npt.NDArray[np.int64], nonzero: npt.NDArray[np.int64]) -> None:
        """What is requested is what it was: copies of ``requested`` and ``nonzero`` made before."""
        self._requested[:] = requested
        self._non_zero_requested[:] = nonzero

    # ---- inside ----------------------------------------------------------------------------------

    def _occupy(self, name: str) -> int:
        """A row for a new node: a free one, else the next."""
        row = self._free[-1] if self._free else self.rows
        tie_break = name_hash(name)
        self._reserve(row + 1)
        self._mark_all_changed(row)
        if self._free:
            self._free.pop()
        else:
            self.rows += 1
            self.all_rows = slice(0, self.rows)
            self.names.append("")
            self.nodes.append(None)
        self.row_of[name] = row
        self.names[row] = name
        self._live[row] = True
        self._tie_break[row] = tie_break
        return row

    def _mark_all_changed(self, row: int) -> None:
        for log in self.logs:
            log.add(row)

    def _write(self, row: int, old: Node | None, node: Node, amounts: Mapping[str, int]) -> None:
        """Write all that a node says, where it differs from what is there."""
        amounts_differ = self._put_amounts(row, amounts)
        differing = {
            Aspect.RESOURCES: amounts_differ,
            Aspect.ALLOCATABLE: amounts_differ,
            Aspect.TAINTS: self._put_taints(row, node.spec),
            Aspect.LABELS: self.labels.put(row, node.metadata.labels or {}),
            Aspect.IMAGES: self.images.put(row, node.metadata.name, node.status.images or ()),
            Aspect.FEATURES: old is None or _features(old) != _features(node),
            Aspect.OBJECT: old is None or _visible(old) != _visible(node),
        }
        for aspect, differs in differing.items():
            if differs:
                self.logs[aspect].add(row)
        self.order.put(node)  # last, too
        self.nodes[row] = node

    def _put_amounts(self, row: int, amounts: Mapping[str, int]) -> bool:
        """Write allocatable where it differs; resources that the node no longer names become 0.
        Whether any differs.
        """
        basic = np.array([amounts.get(resource, 0) for resource in BASIC])
        before = self.resources.had(row)
        changes = [
            (self.resources.charge, row, resource, HAS, more)
            for resource in {**amounts, **before}
            if (more := amounts.get(resource, 0) - before.get(resource, 0))
            and resource not in BASIC
        ]
        all_or_none(1, *changes)
        column = self._allocatable[:, row]
        differs = bool(changes) or not np.array_equal(column, basic)
        column[:] = basic
        return differs

    def _put_taints(self, row: int, spec: NodeSpec) -> bool:
        """Write taints where they differ; whether they do."""
        taints, unschedulable = spec.taints or (), bool(spec.unschedulable)
        before = int(self._taint_set[row])
        differs = (
            self._taints.values[before] != taints or bool(self._unschedulable[row]) != unschedulable
        )
        if differs:
            self._taint_set[row] = self._taints.swap(before, taints)
            self._unschedulable[row] = unschedulable
        return differs

    def _charge_other(self, row: int, resource: str, amount: int, sign: int) -> None:
        index = BASIC.get(resource)
        if index is None:
            self.resources.charge(row, resource, TAKEN, amount, sign)
        else:
            self._requested[index, row] += sign * amount

    def _reserve(self, capacity: int) -> None:
        """Make (or enlarge) all arrays; keeps what they held. The public names are read-only views
        of the private arrays.
        """
        if self._arrays and capacity <= self._live.size:
            return
        shapes: dict[str, tuple[tuple[int, ...], type[np.generic]]] = {
            "live": ((), np.bool_),
            "allocatable": ((len(BASIC),), np.int64),
            "requested": ((len(BASIC),), np.int64),
            "non_zero_requested": ((2,), np.int64),
            "unschedulable": ((), np.bool_),
            "taint_set": ((), np.int32),
            "tie_break": ((), np.uint64),
        }
        longer = {
            name: grown(self._arrays.get(name, np.zeros((*shape, 0), dtype)), capacity)
            for name, (shape, dtype) in shapes.items()
        }
        self._arrays = longer
        self._live: npt.NDArray[np.bool_] = longer["live"]
        self._allocatable: npt.NDArray[np.int64] = longer["allocatable"]
        self._requested: npt.NDArray[np.int64] = longer["requested"]
        self._non_zero_requested: npt.NDArray[np.int64] = longer["non_zero_requested"]
        self._unschedulable: npt.NDArray[np.bool_] = longer["unschedulable"]
        self._taint_set: npt.NDArray[np.int32] = longer["taint_set"]
        self._tie_break: npt.NDArray[np.uint64] = longer["tie_break"]
        self.live = _read_only(self._live)
        self.allocatable = _read_only(self._allocatable)
        self.requested = _read_only(self._requested)
        self.non_zero_requested = _read_only(self._non_zero_requested)
        self.unschedulable = _read_only(self._unschedulable)
        self.taint_set = _read_only(self._taint_set)
        self.tie_break = _read_only(self._tie_break)


def _features(node: Node) -> tuple[str, ...]:
    return node.status.declared_features or ()


def _visible(node: Node) -> tuple[object, ...]:
    """What plugins can see of it; the metadata changes with every write."""
    metadata = node.metadata
    return (
        node.spec,
        node.status,
        metadata.labels,
        metadata.annotations,
        metadata.creation_timestamp,
    )


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
