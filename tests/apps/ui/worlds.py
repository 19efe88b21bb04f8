"""Recordings for the page: two hundred seconds of a small cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from moorage.core.columns.changes import Entry, NodePut, PodObserved, PodWaiting
from moorage.core.cycle.decisions import ProfileActivated
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod
from tests.apps.worlds.recordings import RESOLVER, write_recording
from tests.builders import make_node, make_pod

ZONE: Final = "topology.kubernetes.io/zone"


def revision(preset: str) -> Revision:
    """Of a profile named test."""
    profile = {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": "test"},
        "spec": {"preset": preset},
    }
    return RESOLVER(profile, {}).revision


def bound(pod: Pod, node: str) -> Pod:
    """The pod on its node."""
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


def recorded(path: Path) -> Path:
    """Four nodes; a pod comes every 10 s, and the first twelve have a node a second later; after
    105.5 s another revision decides.
    """
    nodes = [make_node(f"n{i}", labels={ZONE: f"z{i % 2}"}) for i in range(4)]
    happened: list[tuple[float, Entry]] = [(105.5, ProfileActivated("test", revision("BinPack")))]
    for i in range(20):
        pod = make_pod(f"p{i}", cpu="1")
        happened.append((10 * i + 1.0, PodWaiting(pod)))
        if i < 12:
            happened.append((10 * i + 2.0, PodObserved(bound(pod, f"n{i % 4}"))))
    state = [ProfileActivated("test", revision("Default")), *map(NodePut, nodes)]
    return write_recording(path, state, *sorted(happened, key=lambda one: one[0]))
