"""Fixtures for pytest: a cluster for the session, and a fresh namespace of it for each test.

| fixture | scope | what a test gets |
| --- | --- | --- |
| ``towtank_settings`` | session | ClusterSettings; override it for what options do not say |
| ``session_cluster`` | session | the cluster, a ThreadedCluster |
| ``namespace`` | function | the name of a fresh namespace, that is deleted after the test |
| ``kubeconfig`` | function | a file whose context is that namespace; KUBECONFIG names it |
| ``cluster`` | function | all of that: ``server``, ``kubeconfig``, ``namespace`` |

A server that stands still fails the test that waits for it, and every later one, with the stack of
its thread.
"""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:  # at run time in the fixtures: most runs of pytest need no cluster
    from towtank import ClusterSettings, ThreadedCluster

_CONTROLLERS: Final = ("all", "none")
_OPTIONS: Final = {
    "towtank_controllers": ("all", "which controllers the cluster has: all or none"),
    "towtank_nodes": ("3", "how many nodes the cluster has"),
    "towtank_frozen_after": (
        "10",
        "after how many seconds without an answer the cluster's server counts as frozen",
    ),
}
_MAX_PATIENCE_SECONDS: Final = 86_400


@dataclasses.dataclass(frozen=True, slots=True)
class NamespacedCluster:
    """A cluster as one test sees it: ``namespace`` is the test's own, and the one that
    ``kubeconfig`` leads to.
    """

    server: str
    kubeconfig: Path
    namespace: str


class FrozenServerAlarm:
    """Fails the test that waits for a server which stands still, even where it is blocked in a
    system call.

    It interrupts the main thread with SIGURG, which nobody else uses, and which does nothing where
    it has no handler.
    """

    def __init__(self) -> None:
        self._message = ""
        self._armed = False

    def sound(self, message: str) -> None:
        """Called in the thread that watches the server."""
        self._message = f"towtank: the server is frozen: {message}"
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGURG)

    def check(self) -> None:
        """Fail at once when the server is known to be frozen."""
        if self._message:
            pytest.fail(self._message, pytrace=False)

    @contextlib.contextmanager
    def armed(self) -> Iterator[None]:
        """A phase of a test that may be interrupted."""
        self._armed = True
        try:
            yield
        finally:
            self._armed = False

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """With the handler of the signal; without it where tests do not run in the main thread."""
        if (
            not hasattr(signal, "pthread_kill")
            or threading.current_thread() is not threading.main_thread()
        ):
            yield
            return
        before = signal.signal(signal.SIGURG, self._on_signal)
        try:
            yield
        finally:
            signal.signal(signal.SIGURG, before)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Runs in the main thread, within whatever it waits for."""
        if self._armed:
            self._armed = False
            self.check()


_ALARM: Final = pytest.StashKey[FrozenServerAlarm]()


# ---- hooks ---------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Each as an option of the command and as a line of the configuration."""
    group = parser.getgroup("towtank", "a Kubernetes API server in memory")
    for name, (default, text) in _OPTIONS.items():
        group.addoption(f"--{name.replace('_', '-')}", dest=name, default=None, help=text)
        parser.addini(name, text, default=default)


def pytest_configure(config: pytest.Config) -> None:
    """One alarm for a session."""
    config.stash[_ALARM] = FrozenServerAlarm()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """A server that is frozen already fails the test at once."""
    if not _uses_cluster(item):
        return (yield)
    alarm = item.config.stash[_ALARM]
    alarm.check()
    with alarm.armed():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """The alarm may end the test."""
    if not _uses_cluster(item):
        return (yield)
    with item.config.stash[_ALARM].armed():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """The alarm may end what comes after the test."""
    if not _uses_cluster(item):
        return (yield)
    with item.config.stash[_ALARM].armed():
        return (yield)


def _uses_cluster(item: pytest.Item) -> bool:
    return "session_cluster" in getattr(item, "fixturenames", ())


# ---- fixtures ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def towtank_settings(pytestconfig: pytest.Config) -> ClusterSettings:
    """How the session's cluster begins, by the options. Pods run, and end, as soon as they are
    bound or deleted.
    """
    from towtank import ClusterSettings, ControllerSettings, like_nodes

    controllers = _option(pytestconfig, "towtank_controllers")
    if controllers not in _CONTROLLERS:
        raise pytest.UsageError(
            f"towtank_controllers: {controllers!r}: write one of {', '.join(_CONTROLLERS)}"
        )
    settings = (
        ControllerSettings(start_after=0.0, stop_after=0.0)
        if controllers == "all"
        else ControllerSettings.none()
    )
    return ClusterSettings(nodes=like_nodes(_node_count(pytestconfig)), controllers=settings)


@pytest.fixture(scope="session")
def session_cluster(
    towtank_settings: ClusterSettings, pytestconfig: pytest.Config
) -> Iterator[ThreadedCluster]:
    """One cluster for all tests of the session."""
    from towtank import Cluster

    alarm = pytestconfig.stash[_ALARM]
    with (
        alarm.installed(),
        Cluster.in_thread(towtank_settings, _patience(pytestconfig), alarm.sound) as cluster,
    ):
        yield cluster


@pytest.fixture
def namespace(session_cluster: ThreadedCluster) -> Iterator[str]:
    """The name of a fresh namespace. Its deletion begins when the test ends, and nobody waits for
    it.
    """
    from towtank import ServerFrozen

    name = session_cluster.namespace(prefix="test-")
    yield name
    with contextlib.suppress(ServerFrozen):  # the test has failed by that already
        session_cluster.delete_namespace(name)


@pytest.fixture
def kubeconfig(
    session_cluster: ThreadedCluster,
    namespace: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A kubeconfig whose context is the test's namespace. The environment's KUBECONFIG names it
    during the test.
    """
    file = tmp_path / "kubeconfig"
    file.touch(mode=0o600)
    file.write_text(session_cluster.kubeconfig_text(namespace), encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(file))
    return file


@pytest.fixture
def cluster(
    session_cluster: ThreadedCluster, namespace: str, kubeconfig: Path
) -> NamespacedCluster:
    """The session's cluster, with a namespace of the test's own."""
    return NamespacedCluster(session_cluster.server, kubeconfig, namespace)


# ---- options -------------------------------------------------------------------------------------


def _option(config: pytest.Config, name: str) -> str:
    given = config.getoption(name)
    return str(config.getini(name) if given is None else given).strip()


def _node_count(config: pytest.Config) -> int:
    from towtank.node_shapes import MAX_NODES

    text = _option(config, "towtank_nodes")
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= MAX_NODES):
        raise pytest.UsageError(
            f"towtank_nodes: {text!r}: write a whole number from 0 to {MAX_NODES}"
        )
    return int(text)


def _patience(config: pytest.Config) -> float:
    text = _option(config, "towtank_frozen_after")
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MAX_PATIENCE_SECONDS:
        raise pytest.UsageError(
            f"towtank_frozen_after: {text!r}: write a number of seconds, at most "
            f"{_MAX_PATIENCE_SECONDS}"
        )
    return seconds
