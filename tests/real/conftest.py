"""Fixtures of the tests on a real API server and on the embedded cluster: one control plane of each
for the whole run.
"""

import contextlib
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.real import completeness
from tests.rig import ControlPlane, DevRig, Kwok, Rig
from tests.rig.controllers import Controllers
from tests.rig.objects import create
from tests.rig.operators import install
from tests.rig.pod_groups import PROFILE as GROUPS_PROFILE
from tests.tools import assets as binaries
from tests.tools.required_assets import required_assets

REAL: Final = "kube-apiserver"
SERVERS: Final = (REAL, pytest.param("towtank", marks=pytest.mark.embedded))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests that have a control plane run on both sorts, but for those that need what the embedded
    cluster does not have.
    """
    if "new_rig" in metafunc.fixturenames:
        servers = SERVERS[:1] if metafunc.definition.get_closest_marker("real_only") else SERVERS
        metafunc.parametrize("new_rig", servers, indirect=True, scope="session")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests about the whole run come last."""
    completeness.put_last(items)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Those of the embedded cluster are another suite's."""
    for item in items:
        if item.get_closest_marker("embedded") is None:
            completeness.missed(item.config, item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Keep which test was skipped or failed, in any of its phases."""
    report = yield
    if not report.passed:
        completeness.missed(item.config, item.nodeid)
    return report


@pytest.fixture(scope="session")
def assets(request: pytest.FixtureRequest) -> Path:
    """The folder of etcd, kube-apiserver and the rest, of the version that `--kubernetes` names;
    without it the test fails, or is skipped where Go is absent.
    """
    return required_assets(str(request.config.getoption("--kubernetes")))


@pytest.fixture(scope="session")
def new_rig(request: pytest.FixtureRequest) -> Callable[[], ControlPlane]:
    """Makes control planes of one sort: real ones, or embedded clusters, which need nothing but
    Python.
    """
    if request.param == REAL:
        return partial(Rig, request.getfixturevalue("assets"))
    kubectl = binaries.folder() / "kubectl"
    return partial(DevRig, kubectl if kubectl.exists() else None)


@pytest.fixture(scope="session")
def rig(new_rig: Callable[[], ControlPlane]) -> Iterator[ControlPlane]:
    """A running control plane, shared: use a namespace and node names of your own."""
    with new_rig() as rig:
        yield rig


@pytest.fixture(scope="session")
def kwok(rig: Rig) -> Iterator[Kwok]:
    """Pretended kubelets for the shared control plane's nodes that carry kwok.NODE_ANNOTATION."""
    with Kwok(rig) as kwok:
        yield kwok


def needs_groups(rig: Rig) -> None:
    """Skip the test where Kubernetes has no groups of pods."""
    if not rig.groups:
        pytest.skip("NOT TESTED: PodGroups of scheduling.k8s.io/v1beta1 came with Kubernetes 1.37")


@contextlib.contextmanager
def with_gangs(assets: Path) -> Iterator[Rig]:
    """A control plane whose Jobs make PodGroups, with kube-controller-manager and what the operator
    needs. Skips the test where Kubernetes has no such groups.
    """
    with contextlib.ExitStack() as stack:
        rig = Rig(assets, more_gates=["WorkloadWithJob"])
        needs_groups(rig)
        stack.enter_context(rig)
        stack.enter_context(Controllers(rig))
        install(rig)
        ranks = {"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1"}
        create(rig, GROUPS_PROFILE, {**ranks, "metadata": {"name": "high"}, "value": 1000})
        yield rig


@pytest.fixture(scope="session")
def group_rig(assets: Path) -> Iterator[Rig]:
    """One that the tests of gangs share: use namespaces of your own."""
    with with_gangs(assets) as rig:
        yield rig
