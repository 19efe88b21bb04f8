"""The node table: every fact about nodes that a plugin reads, as parallel arrays over rows.

A row belongs to one node from ``put`` to ``remove``; then it is free and may be given to another node. Rows up to ``rows`` have
been used; arrays are longer (capacity) and grow by doubling, so fetch an array from the table each time and slice it by rows.
All arrays are read-only views: only this module's methods write, and each write notes the row in the log of its aspect.

===================  ==========  =====================  ==================================================================
array                dtype       shape                  meaning of element ``[.., row]``
===================  ==========  =====================  ==================================================================
``live``             bool        [capacity]             the row has a node. Where False, all that follows is arbitrary.
``allocatable``      int64       [resources, capacity]  status.allocatable; cpu in millicores, else in units of the resource
                                                        (bytes, pieces); the index of a resource is ``resource_index``
``requested``        int64       [resources, capacity]  sum over the node's pods, assumed ones included; PODS counts them
``nonzero``          int64       [2, capacity]          cpu and memory requested with defaults for containers without
``unschedulable``    bool        [capacity]             spec.unschedulable
``taint_set``        int32       [capacity]             index into ``taint_sets``
``tie_break``        uint64      [capacity]             a hash of the node's name, for ``framework.tie_breaking``
===================  ==========  =====================  ==================================================================

Labels, host ports and images have tables of their own (``labels``, ``ports``, ``images``) that share the row numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from moorage.core.columns.changes import Aspect, ChangeLog, Reader
from moorage.core.columns.images import ImageTable
from moorage.core.columns.labels import LabelTable
from moorage.core.columns.ports import PortTable
from moorage.core.columns.requests import CPU, MEMORY, PODS, Requests, allocatable_amounts
from moorage.core.columns.zones import NodeOrder
from moorage.core.objects import Node, Taint

__all__ = ["Aspect", "NodeTable", "Rows"]

Rows: TypeAlias = npt.NDArray[np.intp] | slice
"""Row numbers, or a slice over all rows in use."""

_FIRST = 64


class NodeTable:
    """The arrays of the module's docstring and what it takes to keep them."""

    def __init__(self) -> None:
        self.rows = 0
        self.row_of: dict[str, int] = {}
        self.names: list[str] = []
        self.nodes: list[Node | None] = []
        self.resource_index: dict[str, int] = {"cpu": CPU, "memory": MEMORY, "ephemeral-storage": 2, "pods": PODS}
        self.taint_sets: list[tuple[Taint, ...]] = [()]
        self.logs = tuple(ChangeLog() for _ in Aspect)
        self.labels = LabelTable()
        self.ports = PortTable()
        self.images = ImageTable()
        self.order = NodeOrder()
        self._taint_set_of: dict[tuple[Taint, ...], int] = {(): 0}
        self._free: list[int] = []
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._allocate(_FIRST, 8)

    # ---- reading -----------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self.row_of)

    @property
    def all_rows(self) -> slice:
        """All rows that have been used."""
        return slice(0, self.rows)

    def reader(self, aspects: frozenset[Aspect]) -> Reader:
        """A reader that has seen nothing yet."""
        return Reader(self.logs, aspects)

    # ---- nodes -------------------------------------------------------------------------------------------------------------

    def put(self, node: Node) -> int:
        """Add a node, or write down what an update changed; returns its row. Raises QuantityError before anything is changed."""
        amounts = allocatable_amounts(node)
        name = node.metadata.name
        row = self.row_of.get(name)
        if row is None:
            row = self._occupy(name)
        old = self.nodes[row]
        self.nodes[row] = node
        self.order.put(node)
        self._put_amounts(row, amounts)
        self._put_taints(row, node)
        if self.labels.put(row, node.metadata.labels or {}):
            self.logs[Aspect.LABELS].add(row)
        if old is None or old.status.images != node.status.images:
            self.images.put(row, node.status.images or ())
            self.logs[Aspect.IMAGES].add(row)
        if old is None or (old.status.declared_features or ()) != (node.status.declared_features or ()):
            self.logs[Aspect.FEATURES].add(row)
        if old is None or _seen(old) != _seen(node):
            self.logs[Aspect.OBJECT].add(row)
        return row

    def remove(self, name: str) -> None:
        """Free a node's row. Raises KeyError for an unknown name."""
        row = self.row_of.pop(name)
        self.names[row] = ""
        self.nodes[row] = None
        self._live[row] = False
        for amounts in (self._allocatable, self._requested, self._nonzero):
            amounts[:, row] = 0
        self.order.remove(name)
        self.labels.remove(row)
        self.images.remove(row)
        self.ports.clear(row)
        self._free.append(row)
        for log in self.logs:
            log.add(row)

    def note_devices(self, names: Iterable[str]) -> None:
        """The devices that these nodes can reach have changed (``columns.devices`` has them); unknown nodes are left out."""
        for name in names:
            if name in self.row_of:
                self.logs[Aspect.DEVICES].add(self.row_of[name])

    # ---- pods on nodes -----------------------------------------------------------------------------------------------------

    def charge(self, row: int, requests: Requests, sign: int) -> None:
        """Add (``sign`` 1) or take away (-1) what one pod asks for."""
        requested = self._requested
        requested[CPU, row] += sign * requests.cpu
        requested[MEMORY, row] += sign * requests.memory
        requested[PODS, row] += sign
        self._nonzero[0, row] += sign * requests.nonzero_cpu
        self._nonzero[1, row] += sign * requests.nonzero_memory
        for resource, amount in requests.others:
            self._requested[self._index(resource), row] += sign * amount
        self.logs[Aspect.RESOURCES].add(row)
        if requests.ports:
            self.ports.charge(row, requests.ports, sign)
            self.logs[Aspect.PORTS].add(row)

    def try_out(self, rows: npt.NDArray[np.intp], amounts: npt.NDArray[np.int64], nonzero: npt.NDArray[np.int64]) -> None:
        """Add to what is requested: int64[resources, n] and int64[2, n] for n pods on these rows (repeated for several on one).

        No log notes it: it must be taken back, by ``reset``, before anybody catches up.
        """
        for target, source in ((self._requested, amounts), (self._nonzero, nonzero)):
            for into, each in zip(target, source, strict=False):
                if each.any():
                    np.add.at(into, rows, each)

    def reset(self, requested: npt.NDArray[np.int64], nonzero: npt.NDArray[np.int64]) -> None:
        """What is requested is what it was: copies of ``requested`` and ``nonzero`` made before."""
        self._requested[: len(requested)] = requested
        self._nonzero[:] = nonzero

    # ---- inside ------------------------------------------------------------------------------------------------------------

    def _occupy(self, name: str) -> int:
        """A row for a new node: a free one, else the next."""
        if self._free:
            row = self._free.pop()
        else:
            row = self.rows
            if row == self._live.size:
                self._allocate(2 * row, len(self._allocatable))
            self.rows += 1
            self.names.append("")
            self.nodes.append(None)
        self.row_of[name] = row
        self.names[row] = name
        self._live[row] = True
        digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
        self._tie_break[row] = int.from_bytes(digest, "little")
        for log in self.logs:
            log.add(row)
        return row

    def _put_amounts(self, row: int, amounts: Mapping[str, int]) -> None:
        """Write allocatable where it differs; resources that the node no longer names become 0."""
        new = {self._index(resource): amount for resource, amount in amounts.items()}
        column = self._allocatable[:, row]
        target = np.zeros_like(column)
        for index, amount in new.items():
            target[index] = amount
        if not np.array_equal(column, target):
            column[:] = target
            self.logs[Aspect.RESOURCES].add(row)
            self.logs[Aspect.ALLOCATABLE].add(row)

    def _put_taints(self, row: int, node: Node) -> None:
        taints = node.spec.taints or ()
        taint_set = self._taint_set_of.get(taints)
        if taint_set is None:
            taint_set = self._taint_set_of[taints] = len(self.taint_sets)
            self.taint_sets.append(taints)
        unschedulable = bool(node.spec.unschedulable)
        if self._taint_set[row] != taint_set or self._unschedulable[row] != unschedulable:
            self._taint_set[row] = taint_set
            self._unschedulable[row] = unschedulable
            self.logs[Aspect.TAINTS].add(row)

    def _index(self, resource: str) -> int:
        """The index of a resource; a new one gets the next."""
        index = self.resource_index.get(resource)
        if index is None:
            index = self.resource_index[resource] = len(self.resource_index)
            if index == len(self._allocatable):
                self._allocate(self._live.size, 2 * index)
        return index

    def _allocate(self, capacity: int, resources: int) -> None:
        """Make (or enlarge) all arrays; keeps what they held. The public names are read-only views of the private arrays."""
        shapes: dict[str, tuple[tuple[int, ...], type[np.generic]]] = {
            "live": ((capacity,), np.bool_),
            "allocatable": ((resources, capacity), np.int64),
            "requested": ((resources, capacity), np.int64),
            "nonzero": ((2, capacity), np.int64),
            "unschedulable": ((capacity,), np.bool_),
            "taint_set": ((capacity,), np.int32),
            "tie_break": ((capacity,), np.uint64),
        }
        for name, (shape, dtype) in shapes.items():
            array = np.zeros(shape, dtype)
            if (old := self._arrays.get(name)) is not None:
                array[tuple(slice(0, n) for n in old.shape)] = old
            self._arrays[name] = array
        self._live: npt.NDArray[np.bool_] = self._arrays["live"]
        self._allocatable: npt.NDArray[np.int64] = self._arrays["allocatable"]
        self._requested: npt.NDArray[np.int64] = self._arrays["requested"]
        self._nonzero: npt.NDArray[np.int64] = self._arrays["nonzero"]
        self._unschedulable: npt.NDArray[np.bool_] = self._arrays["unschedulable"]
        self._taint_set: npt.NDArray[np.int32] = self._arrays["taint_set"]
        self._tie_break: npt.NDArray[np.uint64] = self._arrays["tie_break"]
        self.live = _read_only(self._live)
        self.allocatable = _read_only(self._allocatable)
        self.requested = _read_only(self._requested)
        self.nonzero = _read_only(self._nonzero)
        self.unschedulable = _read_only(self._unschedulable)
        self.taint_set = _read_only(self._taint_set)
        self.tie_break = _read_only(self._tie_break)


def _seen(node: Node) -> tuple[object, ...]:
    """What plugins can see of it; the metadata changes with every write."""
    metadata = node.metadata
    return node.spec, node.status, metadata.labels, metadata.annotations, metadata.creation_timestamp


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
