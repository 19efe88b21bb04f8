"""A leader that ends while gangs are in the middle of each step, however it ends; see
tests/real/test_group_failover.py.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.real.conftest import with_gangs
from tests.real.test_group_failover import play


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL])
def test_the_next_leader_ends_what_was_begun(assets: Path, number: signal.Signals) -> None:
    """A leader that was only stopped goes on later: what it had sent arrives late."""
    with with_gangs(assets) as rig:
        play(rig, number)
