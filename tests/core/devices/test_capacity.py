"""How much of a shared device a request takes."""

from __future__ import annotations

import pytest

from moorage.core.devices.capacity import added, consumed, fits, total
from moorage.core.objects.resource_claims import (
    CapacityPolicy,
    CapacityRange,
    CapacityRequirements,
    Device,
    DeviceCapacity,
)

GI = 2**30 * 10**9
STEPS = CapacityPolicy("2Gi", valid_range=CapacityRange("1Gi", "6Gi", "512Mi"))
VALUES = CapacityPolicy("1Gi", ("1Gi", "2Gi", "4Gi"))


def device(policy: CapacityPolicy | None = None) -> Device:
    """One with 8Gi of memory."""
    return Device(name="d", capacity={"memory": DeviceCapacity("8Gi", policy)})


def asking(amount: str | None) -> CapacityRequirements | None:
    """A request for memory."""
    return None if amount is None else CapacityRequirements({"memory": amount})


@pytest.mark.parametrize(
    ("policy", "asked", "takes", "possible"),
    [
        (None, None, "8Gi", True),
        (None, "3Gi", "3Gi", True),
        (None, "9Gi", "9Gi", False),
        (STEPS, None, "2Gi", True),
        (STEPS, "1", "1Gi", True),
        (STEPS, "1Gi", "1Gi", True),
        (STEPS, "1025Mi", "1536Mi", True),
        (STEPS, "6Gi", "6Gi", True),
        (STEPS, "6145Mi", "6656Mi", False),
        (CapacityPolicy(valid_range=CapacityRange("1Gi")), "1500", "1Gi", True),
        (CapacityPolicy(valid_range=CapacityRange("1Gi")), "1500M", "1500M", True),
        (CapacityPolicy(valid_range=CapacityRange("0", None, "1000")), "1001", "2k", True),
        (CapacityPolicy(valid_range=CapacityRange("1Gi", None, "0")), "1500M", "1500M", True),
        (CapacityPolicy(valid_range=CapacityRange(max="2Gi")), "3Gi", "3Gi", False),
        (VALUES, None, "1Gi", True),
        (VALUES, "1500Mi", "2Gi", True),
        (VALUES, "5Gi", "5Gi", False),
        (CapacityPolicy("3Gi", ("4Gi",)), None, "3Gi", True),
    ],
)
def test_what_a_request_takes(
    policy: CapacityPolicy | None, asked: str | None, takes: str, possible: bool
) -> None:
    """Rounded up to what the policy knows; beyond that, or beyond what there is, the device is no
    use.
    """
    assert consumed(device(policy), asking(asked)) == {"memory": takes}
    assert fits(device(policy), asking(asked), {}) is possible


def test_what_others_use_counts() -> None:
    """What is left has to be enough; a capacity that the device does not have never is."""
    assert fits(device(), asking("3Gi"), {"memory": 5 * GI})
    assert not fits(device(), asking("3Gi"), {"memory": 5 * GI + 1})
    assert not fits(device(), CapacityRequirements({"lanes": "1"}), {})
    assert fits(Device(name="d"), None, {})


def test_sums() -> None:
    """By capacity, in nano-units."""
    assert total({"memory": "1Gi"}, {"memory": GI, "lanes": 2}) == {"memory": 2 * GI, "lanes": 2}
    assert added({"memory": 1}, {"lanes": 2}) == {"memory": 1, "lanes": 2}
