"""Taints that administrators give to devices, beside those that drivers publish.

A DeviceTaintRule selects devices by driver, pool and name; its taint counts as if the driver had
published it. Source: Kubernetes dynamic-resource-allocation/resourceslice/tracker (v1.37).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from moorage.core.columns.store import Store
from moorage.core.objects.meta import key
from moorage.core.objects.nodes import Taint
from moorage.core.objects.resource_claims import Device, DeviceTaintRule, ResourceSlice
from moorage.core.structures.all_or_none import all_or_none

PutSliceFn = Callable[[ResourceSlice | None, ResourceSlice | None], None]
"""Takes a slice's former and its new state, None where there is none. If it raises, nothing has
changed.
"""


class TaintedSlices:
    """Hands on the slices of a store with the taints of the rules that are there at the time."""

    def __init__(self, store: Store, put: PutSliceFn) -> None:
        """``put`` is told of each slice, now and whenever it or its taints change."""
        self._put = put
        self._slices = store.objects(ResourceSlice)
        self._rules = store.objects(DeviceTaintRule)
        self._tainted: dict[str, ResourceSlice] = {}
        """Those that were handed on with taints of rules, as they were handed on."""
        store.follow(ResourceSlice, self._put_slice)
        store.follow(DeviceTaintRule, self._put_rule)

    def _put_slice(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        after = None if new is None else tainted(new, self._rules.values())
        for name in dict.fromkeys(key(piece) for piece in (old, new) if piece is not None):
            self._hand_on(name, self._tainted.get(name, old), after)

    def _put_rule(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> None:
        changed = [rule for rule in (old, new) if rule is not None]
        pieces = [
            (name, self._tainted.get(name, piece), tainted(piece, self._rules.values()))
            for name, piece in self._slices.items()
            if any(True for rule in changed for _ in _selected(piece, rule))
        ]
        all_or_none(1, *((self._hand_on, *step) for step in pieces if step[1] != step[2]))

    def _hand_on(
        self, name: str, before: ResourceSlice | None, after: ResourceSlice | None, sign: int = 1
    ) -> None:
        if sign < 0:
            before, after = after, before
        self._put(before, after)
        if after is None or after is self._slices.get(name):
            self._tainted.pop(name, None)
        else:
            self._tainted[name] = after


def tainted(piece: ResourceSlice, rules: Iterable[DeviceTaintRule]) -> ResourceSlice:
    """The slice with the taints of these rules behind its own, rules in the order of their names;
    the slice itself where none selects a device in it.
    """
    more: dict[str, list[Taint]] = {}
    for rule in sorted(rules, key=key):
        for device in _selected(piece, rule):
            more.setdefault(device.name, []).append(rule.spec.taint)
    if not more:
        return piece
    devices = tuple(
        msgspec.structs.replace(device, taints=(*(device.taints or ()), *more[device.name]))
        if device.name in more
        else device
        for device in piece.spec.devices or ()
    )
    return msgspec.structs.replace(piece, spec=msgspec.structs.replace(piece.spec, devices=devices))


def _selected(piece: ResourceSlice, rule: DeviceTaintRule) -> Iterator[Device]:
    """The devices of a slice that bear a rule's taint."""
    which = rule.spec.device_selector
    if (
        which is None
        or which.driver not in {None, piece.spec.driver}
        or which.pool not in {None, piece.spec.pool.name}
    ):
        return
    for device in piece.spec.devices or ():
        if which.device in {None, device.name}:
            yield device
