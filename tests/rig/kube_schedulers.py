"""kube-scheduler, as another scheduler in the cluster."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

from tests.rig.controlplanes import Rig
from tests.rig.processes import Child


@contextlib.contextmanager
def kube_scheduler(rig: Rig, name: str = "theirs") -> Iterator[Child]:
    """With its default profile under this name."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(rig.kubeconfig), "qps": 5000, "burst": 5000},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": name}],
    }
    file = rig.folder / "kube-scheduler.yaml"
    file.write_text(json.dumps(config))
    child = Child(
        [rig.assets / "kube-scheduler", f"--config={file}", "--secure-port=0", *rig.gates],
        rig.folder / "kube-scheduler.log",
        rig.environment,
    )
    try:
        yield child
    finally:
        child.stop()
