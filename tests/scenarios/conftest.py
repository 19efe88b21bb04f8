"""Fixtures of the scenarios: one control plane of each sort and one operator for all of them."""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tests.real.conftest import assets, new_rig, pytest_generate_tests
from tests.rig import ControlPlane
from tests.rig.clients import Client
from tests.rig.operators import Operator, install, until
from tests.scenarios.manifests import PROFILE, manifest, path
from tests.scenarios.playing import Stage

__all__ = ["assets", "new_rig", "pytest_generate_tests", "stage"]


@pytest.fixture(scope="session")
def stage(new_rig: Callable[[], ControlPlane]) -> Iterator[Stage]:
    """The operator decides for the scenarios' profile; there are no nodes and no pods."""
    with contextlib.ExitStack() as stack:
        rig = stack.enter_context(new_rig())
        operator = stack.enter_context(Operator(rig, install(rig), "moorage-scenarios"))
        operator.wait_logged("leading")
        stage = Stage(stack.enter_context(contextlib.closing(Client(rig))), operator)
        stage.client.post(
            path("SchedulerProfile"), manifest("SchedulerProfile", PROFILE, {"spec": {}}, "")
        )
        profile = path(f"SchedulerProfile/{PROFILE}")
        until(
            lambda: stage.client.get(profile).get("status", {}).get("activeRevision"),
            "the profile",
            20,
        )
        yield stage
