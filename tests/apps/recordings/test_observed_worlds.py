"""What was observed is what a recording opens as: at its end, and at any moment of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.adapters.recording import Recorder, RecordingHeader, SingleFile
from moorage.apps.worlds.from_recording import from_recording
from moorage.apps.worlds.observed import ObservedCluster
from moorage.apps.worlds.world import empty_context
from moorage.core.objects.meta import Namespace, ObjectMeta, PartialObject
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod, on_node
from moorage.core.recording.key_frames import key_frame
from moorage.core.recording.wire import EntryEncoder
from moorage.ports.kube import UnreadableObject
from moorage.ports.stored_kinds import NAMESPACES, STORED_KINDS
from tests.apps.worlds.recordings import BEGIN, RESOLVER
from tests.builders import make_node, make_pod
from tests.twins import differing, known

Step = Callable[[ObservedCluster, int], None]
"""Something that happens, as the so-many-th."""
NAMES = st.sampled_from(["a", "b", "c", "d"])
NODES = st.sampled_from(["n1", "n2", "n3"])
SIZES = st.sampled_from(["100m", "2", "9"])


def versioned(obj: Any, version: int) -> Any:
    """The object in a later state."""
    metadata = msgspec.structs.replace(obj.metadata, resource_version=str(version))
    return msgspec.structs.replace(obj, metadata=metadata)


def put_node(name: str, cpu: str) -> Step:
    node: Node = make_node(name, cpu=cpu)
    return lambda cluster, version: cluster.nodes.put(versioned(node, version))


def remove_node(name: str) -> Step:
    return lambda cluster, _: cluster.nodes.delete(make_node(name))


def put_pod(name: str, cpu: str, node: str, phase: str, nominated: str) -> Step:
    pod: Pod = make_pod(name, cpu=cpu)
    status = msgspec.structs.replace(pod.status, phase=phase, nominated_node_name=nominated)
    placed = on_node(msgspec.structs.replace(pod, status=status), node)
    return lambda cluster, version: cluster.pods.put(versioned(placed, version))


def remove_pod(name: str) -> Step:
    return lambda cluster, _: cluster.pods.delete(make_pod(name))


def spoil_pod(name: str, node: str) -> Step:
    partial = PartialObject(ObjectMeta(name=name, namespace="default", uid=f"uid-{name}"))
    broken = UnreadableObject(partial, node, "broken")
    return lambda cluster, _: cluster.pods.unreadable(broken, deleted=False)


def put_namespace(name: str) -> Step:
    namespace = Namespace(ObjectMeta(name=name, uid=name))
    return lambda cluster, version: cluster.others[NAMESPACES].put(versioned(namespace, version))


PLACES = st.one_of(st.just(""), NODES)
STEPS = st.one_of(
    st.builds(put_node, NODES, SIZES),
    st.builds(remove_node, NODES),
    st.builds(put_pod, NAMES, SIZES, PLACES, st.sampled_from(["", "Failed"]), PLACES),
    st.builds(put_pod, NAMES, SIZES, PLACES, st.just("Running"), st.just("")),
    st.builds(remove_pod, NAMES),
    st.builds(spoil_pod, NAMES, PLACES),
    st.builds(put_namespace, NAMES),
)


@settings(max_examples=60)
@given(st.lists(STEPS, max_size=25), st.sets(st.integers(0, 24)), st.integers(0, 24))
def test_a_recording_opens_as_what_was_observed(
    steps: list[Step], whole_states: set[int], moment: int
) -> None:
    """Whatever happens, and wherever a whole state stands in between."""
    clock = [BEGIN]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.rec"
        encoder = EntryEncoder(RESOLVER.document)
        recorder = Recorder(SingleFile(path), RecordingHeader(), encoder, lambda: clock[0])
        recorder.start()
        cluster = ObservedCluster(empty_context(journal=recorder), STORED_KINDS)
        recorder.put_key_frame([])
        at_moment: dict[str, Any] = {}
        for number, step in enumerate(steps):
            clock[0] = BEGIN + number
            step(cluster, number + 1)
            if number in whole_states and not recorder.key_frame_waits:
                recorder.put_key_frame(key_frame(cluster.context.cache, {}))
            if number == moment:
                at_moment = copied(known(cluster.context))
        assert recorder.close(30)
        registry = RESOLVER.registry
        assert not differing(cluster.context, from_recording(path, registry).context)
        if at_moment:
            opened = known(from_recording(path, registry, BEGIN + moment + 0.5).context)
            assert copied(opened) == at_moment


def copied(state: dict[str, Any]) -> dict[str, Any]:
    """As it is now, as text: what it refers to goes on changing."""
    return {name: repr(value) for name, value in state.items()}
