"""Run kube-scheduler for a comparison: ``python tests/bench/kube_scheduler.py BINARY KUBECONFIG
NAME [flags]``.

It gets a profile NAME with just the plugins that this version of Moorage has, and a client that is
not held back (qps 5000).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

from moorage.core.plugins.intree import INTREE, OURS


def main() -> None:
    """Write the configuration, then become kube-scheduler."""
    binary, kubeconfig, name, *flags = sys.argv[1:]
    specs = [spec for spec in INTREE if spec.name not in OURS]
    enabled = [
        {"name": spec.name, "weight": spec.weight} if spec.weight > 1 else {"name": spec.name}
        for spec in specs
    ]
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 5000, "burst": 5000},
        "leaderElection": {"leaderElect": False},
        "profiles": [
            {
                "schedulerName": name,
                "plugins": {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}},
            }
        ],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
        json.dump(config, file)
    os.execv(binary, [binary, f"--config={file.name}", "--secure-port=0", *flags])


if __name__ == "__main__":
    main()
