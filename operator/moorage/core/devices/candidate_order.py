"""The order in which devices are tried, where somebody prefers some to others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from moorage.core.devices.claim_requests import DeviceQuery
from moorage.core.devices.pools import CandidateDevice
from moorage.core.devices.uses import AvailableDevices


class CandidateOrder(Protocol):
    """Prefers devices; hashable, and equal only to what orders alike."""

    def in_order(
        self, wish: DeviceQuery, candidates: Sequence[CandidateDevice], offer: AvailableDevices
    ) -> Sequence[CandidateDevice]:
        """All of these devices, the one first that is to be tried first for a request. Raises
        AllocationError.
        """
