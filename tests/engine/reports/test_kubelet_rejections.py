"""Kubelet rejections: what comes by the watch of failed pods is counted once, by profile and
reason, and told where users look.
"""

from __future__ import annotations

import dataclasses

import pytest

from moorage.core.objects.meta import PartialObject
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ProfileRecord, ProfileRecords
from moorage.engine.reports.kubelet_rejections import (
    EVENT_INTERVAL_SECONDS,
    OTHER_REASON,
    FailedPod,
    FailedSpec,
    FailedStatus,
    KubeletRejections,
)
from moorage.ports.kube import UnreadableObject
from tests.builders import make_pod
from tests.engine.worlds import a_body, make_ports
from tests.fakes.clocks import ManualClock
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import CountingTelemetry, FakeEventRecorder

TEXT = (
    "Pod was rejected: Node didn't have enough resource: cpu, requested: 2000, used: 3000, "
    "capacity: 4000"
)


def failed(
    name: str, reason: str = "OutOfcpu", message: str = "", profile: str = "test"
) -> FailedPod:
    """A failed pod on node n1."""
    return FailedPod(
        make_pod(name).metadata, FailedSpec("n1", profile), FailedStatus("Failed", reason, message)
    )


@dataclasses.dataclass
class World:
    """The informer's sink with profile ``test``, which leads and has an empty list in."""

    clock: ManualClock = dataclasses.field(default_factory=ManualClock)
    events: FakeEventRecorder = dataclasses.field(default_factory=FakeEventRecorder)
    telemetry: CountingTelemetry = dataclasses.field(default_factory=CountingTelemetry)

    def __post_init__(self) -> None:
        records = ProfileRecords({"test": ProfileRecord("test", a_body("test"))})
        resources = {"cpu", "memory", "pods", "example.com/gpu"}
        self.live = LiveRevisions()
        self.live.lead()
        self.ports = make_ports(InMemoryKube(), self.clock, self.events, self.telemetry)
        self.sink = KubeletRejections(self.live, self.ports, records, resources.__contains__)
        self.list()

    def list(self, *pods: FailedPod) -> None:
        """A whole list."""
        self.sink.list_started()
        for pod in pods:
            self.sink.put(pod)
        self.sink.list_ended()

    @property
    def counted(self) -> dict[tuple[str, str], int]:
        """By profile and reason."""
        return dict(self.telemetry.counts)


@pytest.mark.parametrize(
    ("reason", "message", "label"),
    [
        ("OutOfcpu", TEXT, "OutOfcpu"),
        ("OutOfpods", "", "OutOfpods"),
        ("OutOfexample.com/gpu", "", "OutOfexample.com/gpu"),
        pytest.param("OutOfanything", "", OTHER_REASON, id="a resource that no node has"),
        ("NodeAffinity", "", "NodeAffinity"),
        ("UnexpectedAdmissionError", "", "UnexpectedAdmissionError"),
        pytest.param(
            "Evicted",
            "Pod was rejected: The node had condition: [DiskPressure].",
            "Evicted",
            id="refused under pressure",
        ),
        pytest.param(
            "Evicted", "The node was low on resource: memory.", None, id="evicted while it ran"
        ),
        pytest.param("Whim", "Pod was rejected: no", OTHER_REASON, id="an unknown reason"),
        pytest.param("DeadlineExceeded", "", None, id="ran for too long"),
        pytest.param("", "", None, id="its containers failed"),
    ],
)
def test_what_is_a_rejection(reason: str, message: str, label: str | None) -> None:
    """Pods that ran and failed are none; reasons in metrics are of a closed set."""
    world = World()
    world.sink.put(failed("a", reason, message))
    assert world.counted == ({("test", label): 1} if label else {})


def test_each_is_counted_once() -> None:
    """However often it comes; a namesake is another pod."""
    world = World()
    for _ in range(3):
        world.sink.put(failed("a"))
    world.list(failed("a"), failed("b"))
    assert world.counted == {("test", "OutOfcpu"): 2}
    world.sink.delete(failed("a"))
    world.sink.unreadable(
        UnreadableObject(PartialObject(make_pod("b").metadata), "n1", "broken"), deleted=True
    )
    world.list()
    world.sink.put(failed("c"))
    assert world.counted == {("test", "OutOfcpu"): 3}


def test_those_of_before_are_nobodys_news() -> None:
    """The first list; and all that comes while another replica leads."""
    world = World()
    world.sink = KubeletRejections(
        world.live,
        world.ports,
        ProfileRecords({"test": ProfileRecord("test", a_body("test"))}),
        str.isalpha,
    )
    world.list(failed("old"))
    world.live.leading = False
    world.sink.put(failed("theirs"))
    world.live.leading = True
    world.sink.put(failed("old"))
    world.sink.put(failed("theirs"))
    assert world.counted == {}
    world.list(failed("old"), failed("theirs"), failed("in the gap"))
    assert world.counted == {("test", "OutOfcpu"): 1}


def test_other_schedulers_pods() -> None:
    """Are theirs to count."""
    world = World()
    world.sink.put(failed("a", profile="default-scheduler"))
    assert world.counted == {}


def test_what_is_kept_is_what_there_is() -> None:
    """UIDs of refused pods that are still there, and no others, however many come and go."""
    world = World()
    for i in range(1000):
        world.sink.put(failed(f"p{i}"))
        world.sink.put(failed(f"q{i}", "DeadlineExceeded"))
        world.sink.delete(failed(f"p{i}"))
    world.sink.put(failed("last"))
    assert world.sink._known == {"uid-last"}
    world.list()
    assert world.sink._known == set()


def test_the_profile_is_told_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    """The log names each pod and its node; an event on the profile comes for each reason, but not
    for each pod.
    """
    world = World()
    world.sink.put(failed("a", message=TEXT))
    world.sink.put(failed("b"))
    world.sink.put(failed("c", "NodePorts"))
    world.clock.jump(EVENT_INTERVAL_SECONDS)
    world.sink.put(failed("d"))
    assert [event.note for event in world.events.events] == [
        f"The kubelet of node n1 refused pod default/a: OutOfcpu: {TEXT}",
        "The kubelet of node n1 refused pod default/c: NodePorts",
        "The kubelet of node n1 refused pod default/d: OutOfcpu",
    ]
    assert {
        (event.regarding.name, event.reason, event.warning) for event in world.events.events
    } == {("test", "KubeletRejected", True)}
    told = [
        (record.__dict__["pod"], record.__dict__["node"], record.__dict__["reason"])
        for record in caplog.records
    ]
    assert told == [
        ("default/a", "n1", "OutOfcpu"),
        ("default/b", "n1", "OutOfcpu"),
        ("default/c", "n1", "NodePorts"),
        ("default/d", "n1", "OutOfcpu"),
    ]
