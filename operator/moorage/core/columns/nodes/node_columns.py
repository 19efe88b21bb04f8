"""What plugins read of the node table: its columns and its queries, none of what writes them.

``node_table`` says what each column means. A type checker refuses a plugin that calls a writer;
NumPy refuses one that writes into an array.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import Aspect, ChangeReader, Versioned
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.objects.nodes import Node, Taint
from moorage.core.pods.host_ports import HostPort
from moorage.core.structures.sparse import Amounts


class LabelCodes(Versioned, Protocol):
    """One label: see ``label_columns.LabelColumn``."""

    @property
    def codes(self) -> npt.NDArray[np.int32]: ...

    @property
    def values(self) -> Sequence[str | None]: ...

    def code(self, value: str) -> int: ...

    def numbers(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]: ...


class NodeLabels(Protocol):
    """The columns of labels: see ``label_columns.LabelTable``."""

    def column(self, key: str) -> LabelCodes: ...


class HostPortsInUse(Protocol):
    """Host ports in use: see ``port_table.PortTable``."""

    def taken(self, row: int, port: HostPort) -> bool: ...

    def conflicts(self, port: HostPort) -> list[int]: ...


class NodeImages(Versioned, Protocol):
    """Images on nodes: see ``image_table.ImageTable``."""

    def holders(self, name: str) -> tuple[int, Collection[int]]: ...


class NodeResources(Protocol):
    """Resources that few nodes have: see ``structures.sparse.SparseAmounts``."""

    @property
    def names(self) -> Collection[str]: ...


class NodeNames(Protocol):
    """The nodes' names in the order of sampling: see ``zones.NodeOrder``."""

    @property
    def names(self) -> tuple[str, ...]: ...


class NodeColumns(Protocol):
    """The readable part of ``node_table.NodeTable``."""

    @property
    def rows(self) -> int: ...

    @property
    def all_rows(self) -> slice: ...

    @property
    def row_of(self) -> Mapping[str, int]: ...

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def nodes(self) -> Sequence[Node | None]: ...

    @property
    def live(self) -> npt.NDArray[np.bool_]: ...

    @property
    def allocatable(self) -> npt.NDArray[np.int64]: ...

    @property
    def requested(self) -> npt.NDArray[np.int64]: ...

    @property
    def non_zero_requested(self) -> npt.NDArray[np.int64]: ...

    @property
    def unschedulable(self) -> npt.NDArray[np.bool_]: ...

    @property
    def taint_set(self) -> npt.NDArray[np.int32]: ...

    @property
    def taint_sets(self) -> Sequence[tuple[Taint, ...]]: ...

    @property
    def tie_break(self) -> npt.NDArray[np.uint64]: ...

    @property
    def labels(self) -> NodeLabels: ...

    @property
    def ports(self) -> HostPortsInUse: ...

    @property
    def images(self) -> NodeImages: ...

    @property
    def resources(self) -> NodeResources: ...

    @property
    def order(self) -> NodeNames: ...

    @property
    def logs(self) -> Sequence[Versioned]: ...

    def __len__(self) -> int: ...

    def amounts(self, resource: str, rows: Rows) -> tuple[Amounts, Amounts] | None: ...

    def amounts_at(self, resource: str, row: int) -> tuple[int, int]: ...

    def amounts_on(self, row: int) -> dict[str, tuple[int, int]]: ...

    def is_resource(self, name: str) -> bool: ...

    def reader(self, aspects: frozenset[Aspect]) -> ChangeReader: ...
