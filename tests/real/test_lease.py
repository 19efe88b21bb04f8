"""Two electors on a real Lease: an API server that freezes, a release, and never two leaders."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import time
from pathlib import Path

import pytest

from moorage.adapters.kube_session import KubeSession, KubeSource
from moorage.adapters.leader_election import LeaderElectionTimes, LeaderElector
from moorage.adapters.lease_store import KubeLeaseStore
from moorage.adapters.system_clock import SystemClock
from moorage.ports.leadership import Fence
from tests.rig import ControlPlane
from tests.rig.clients import Client
from tests.rig.operators import NAMESPACE, install

TIMES = LeaderElectionTimes(lease_duration=5.0, renew_deadline=3.0, retry_period=0.5)
NAME = "two-electors"


@pytest.fixture(scope="module")
def kubeconfig(rig: ControlPlane) -> Path:
    """The operator's rights."""
    return install(rig)


class Replica:
    """An elector with a session of its own; acquires and holds again and again, as restarted
    processes do.
    """

    def __init__(self, session: KubeSession, identity: str) -> None:
        clock = SystemClock()
        self.session = session
        self.fence = Fence(clock.boottime)
        self.elector = LeaderElector(
            KubeLeaseStore(session, NAMESPACE, NAME, TIMES.renew_deadline),
            self.fence,
            clock,
            identity,
            TIMES,
        )
        self.terms = 0
        self.task = asyncio.create_task(self._run())

    @classmethod
    async def start(cls, kubeconfig: Path, identity: str) -> Replica:
        """Connect and compete."""
        return cls(
            await KubeSession.open(
                KubeSource(str(kubeconfig)), f"moorage/test ({identity})", SystemClock()
            ),
            identity,
        )

    async def _run(self) -> None:
        while True:
            await self.elector.acquire()
            self.terms += 1
            await self.elector.hold()
            assert not self.fence.open

    async def stop(self) -> None:
        """No longer compete."""
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task


async def watch(replicas: list[Replica], seconds: float, until: Replica | None = None) -> float:
    """Look at the fences again and again: never two are open. Ends early when that of ``until`` is;
    returns the seconds it took.
    """
    started = time.monotonic()
    while time.monotonic() < started + seconds:
        assert sum(replica.fence.open for replica in replicas) <= 1
        if until is not None and until.fence.open:
            break
        await asyncio.sleep(0.01)
    return time.monotonic() - started


def test_two_electors(rig: ControlPlane, kubeconfig: Path) -> None:
    """One leads. The API server freezes: nobody leads any more, in time. It goes on: one leads
    again. A release hands over.
    """

    async def scenario() -> None:
        one = await Replica.start(kubeconfig, "one")
        await watch([one], 5, until=one)
        other = await Replica.start(kubeconfig, "other")
        both = [one, other]
        try:
            await watch(both, 3)
            assert one.fence.open and one.terms == 1
            rig.pause_apiserver()
            try:
                # The last renewal was at most a retry period and its request ago.
                await watch(both, TIMES.renew_deadline + TIMES.retry_period)
                assert not one.fence.open
                await watch(both, 2)
                assert not other.fence.open
            finally:
                rig.resume_apiserver()
            started = time.monotonic()
            while not (one.fence.open or other.fence.open):
                await watch(both, 0.01)
                assert time.monotonic() < started + 15
            leader, standby = (one, other) if one.fence.open else (other, one)
            await watch(both, 1)
            await leader.stop()
            await leader.elector.release()
            took = await watch(both, 5, until=standby)
            assert took < TIMES.retry_period * 2.2 + 1
            with contextlib.closing(Client(rig)) as client:
                spec = client.get(
                    f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{NAME}"
                )["spec"]
            assert (
                spec["holderIdentity"] == standby.elector.identity and spec["leaseTransitions"] >= 1
            )
            renewed = datetime.datetime.fromisoformat(spec["renewTime"])
            assert abs((datetime.datetime.now(datetime.UTC) - renewed).total_seconds()) < 5
        finally:
            for replica in both:
                await replica.stop()
                await replica.session.close()

    asyncio.run(scenario())
