"""How much of a shared device a request takes."""

from __future__ import annotations

import pytest

from moorage.core.devices.capacity import UnusableCapacity, added, consumed, fits, total
from moorage.core.objects.resource_claims import (
    CapacityPolicy,
    CapacityRange,
    CapacityRequirements,
    Device,
    DeviceCapacity,
)

GI = 2**30 * 10**9
STEPS = CapacityPolicy("2Gi", valid_range=CapacityRange("1Gi", "6Gi", "512Mi"))
FRACTIONS = CapacityPolicy(valid_range=CapacityRange("500m", "8", "500m"))
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
        (FRACTIONS, "1", "1", True),
        (FRACTIONS, "1200m", "1500m", True),
        (FRACTIONS, "1501m", "2", True),
        (CapacityPolicy(valid_range=CapacityRange("0", None, "5e-1")), "600m", "1", True),
        (CapacityPolicy(valid_range=CapacityRange("0", None, "5e-1")), "1001m", "1500e-3", True),
        (CapacityPolicy(valid_range=CapacityRange("0", None, "0.5Ki")), "2000", "2Ki", True),
        (CapacityPolicy(valid_range=CapacityRange("0", None, "500u")), "1500u", "1", True),
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


RANGE = "capacity request cannot be represented in the device's range arithmetic: "


@pytest.mark.parametrize(
    ("policy", "asked", "message"),
    [
        (None, "-1", "capacity value is negative"),
        (FRACTIONS, "1u", ""),
        (FRACTIONS, "1000001u", RANGE + "request 1000001u is not a representable milli value"),
        (
            CapacityPolicy(valid_range=CapacityRange("1u", None, "5E")),
            "6E",
            RANGE + "rounding request 6E up to the next step passes MaxInt64",
        ),
        (
            CapacityPolicy(valid_range=CapacityRange("0", None, "5P")),
            "8100T",
            RANGE + "rounding request 8100T up to the next step passes the milli-value range",
        ),
    ],
    ids=["negative", "below the least", "too fine", "too much", "too much in thousandths"],
)
def test_amounts_that_end_the_search(
    policy: CapacityPolicy | None, asked: str, message: str
) -> None:
    """They are no device's matter: kube-scheduler's texts."""
    if not message:
        assert fits(device(policy), asking(asked), {})
        return
    with pytest.raises(UnusableCapacity) as raised:
        fits(device(policy), asking(asked), {})
    assert str(raised.value) == f'capacity "memory": {message}'


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
