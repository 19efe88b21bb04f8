"""kube-scheduler, as another scheduler in the cluster."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

from tests.rig.controlplanes import Rig
from tests.rig.processes import Child


@contextlib.contextmanager
def kube_scheduler(rig: Rig, name: str = "theirs", lease: str = "") -> Iterator[Child]:
    """With its default profile under this name; ``lease``: it decides while it has this Lease of
    namespace kube-system.
    """
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(rig.kubeconfig), "qps": 5000, "burst": 5000},
        "leaderElection": {
            "leaderElect": bool(lease),
            "resourceName": lease or "kube-scheduler",
            # A third of the usual: tests wait until it has run out.
            "leaseDuration": "5s",
            "renewDeadline": "4s",
            "retryPeriod": "1s",
        },
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
