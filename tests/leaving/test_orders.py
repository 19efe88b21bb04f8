"""Leaving in the other orders: tests/real/test_leaving.py has two, and these take a minute."""

from __future__ import annotations

import pytest

from tests.real.test_leaving import COMPONENTS, Installed
from tests.rig import ControlPlane


def test_uninstall_with_the_operator_gone(place: ControlPlane) -> None:
    """Its Lease is held yet, by nobody."""
    with Installed(place) as there:
        there.operator.kill()
        assert "Nothing of it is left." in there.moorage("uninstall", "--yes", "--timeout", "60s")
        there.nothing_is_left()


def test_kubectl_with_the_operator_running(place: ControlPlane) -> None:
    """Components first; a process that goes on elsewhere writes nothing any more."""
    with Installed(place) as there:
        for what in (*(f"components/{name}" for name in COMPONENTS), "default"):
            there.delete_or_apply("delete", what, "--ignore-not-found", "--timeout=60s")
        there.nothing_is_left()
        assert there.moorage("uninstall", "--yes").startswith("Nothing of ")


@pytest.mark.parametrize("place", ["towtank"], indirect=True)
def test_kubectl_with_the_operator_gone(place: ControlPlane) -> None:
    """Here the namespace is gone before kubectl asks for what was in it."""
    with Installed(place) as there:
        there.operator.kill()
        there.delete_or_apply("delete", "default", "--ignore-not-found", "--timeout=60s")
        there.moorage("uninstall", "--yes", "--timeout", "60s")
        there.nothing_is_left()
