"""Expression sizes: ordinary expressions are far below the bound, and what makes much of little is
above it.
"""

from __future__ import annotations

import time

import pytest

from moorage.core.devices.device_cel import COST_LIMIT_EXCEEDED, DeviceFacts

FACTS = DeviceFacts("drv.example", False, {"drv.example": {"s": "x" * 60, "b": 5}}, {})
A = "device.attributes['drv.example']"
TEN = "[1,2,3,4,5,6,7,8,9,10]"


def longer(times: int) -> str:
    """A text that is made five hundred times as long, so often."""
    return f"{A}.s" + "".join(
        f".replace('{old}','{new * 500}')"
        for old, new in zip("xyzab"[:times], "yzabc"[:times], strict=True)
    )


@pytest.mark.parametrize(
    ("text", "dear"),
    [
        (f"{A}.b > 3 && device.driver == 'drv.example'", False),
        (
            (
                "device.attributes.exists(d, device.attributes[d].exists(k, "
                "device.attributes[d].exists(j, k == j)))"
            ),
            False,
        ),
        (f"cel.bind(a, {A}.b, a > 3 && a < 9)", False),
        (
            f"{A}.?b.orValue(3) > 1 && {A}.s.split('x').size() > 1 && ['a','b'].join(',') == 'a,b'",
            False,
        ),
        (f"{TEN}.map(x, '{'y' * 900}').map(x, x+x+x+x).size() > 0", False),
        (" || ".join(f"device.driver == '{i}'" for i in range(300)) + " || true", False),
        (f"{longer(1)}.size() > 0", False),
        (f"{longer(2)}.size() > 0", True),
        (f"{TEN}.all(a, {TEN}.all(b, {TEN}.all(c, {longer(2)}.size() > 0)))", True),
        (
            (
                f"{TEN}.all(a, {TEN}.all(b, {TEN}.map(c, "
                f"'{'y' * 9000}').join('{'y' * 900}').size() > 0))"
            ),
            True,
        ),
    ],
)
def test_what_is_too_dear(text: str, dear: bool) -> None:
    """As Kubernetes' run-time limit would say it, and nothing takes long."""
    began = time.thread_time()
    assert FACTS.evaluate(text) == (f"CEL runtime error: {COST_LIMIT_EXCEEDED}" if dear else True)
    assert time.thread_time() - began < 0.25


def test_names_do_not_hide_what_they_stand_for() -> None:
    """A text that is bound to a name and put together from itself again and again."""
    doubled = "cel.bind(v0, 'xxxxxxxx', "
    doubled += "".join(
        f"cel.bind(v{i}, v{i - 1} + v{i - 1} + v{i - 1} + v{i - 1} + v{i - 1} + v{i - 1}, "
        for i in range(1, 12)
    )
    assert (
        FACTS.evaluate(f"{doubled}v11.size() > 0{')' * 12}")
        == f"CEL runtime error: {COST_LIMIT_EXCEEDED}"
    )
