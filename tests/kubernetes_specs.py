"""Kubernetes' own end-to-end specs of scheduling, unchanged, against Moorage as the scheduler of a
cluster.

    python -m tests.kubernetes_specs [--kube-scheduler] [--focus REGEX]

The cluster is etcd, kube-apiserver, kube-controller-manager and nodes that kwok pretends; Moorage
serves a profile whose schedulerName is default-scheduler. The specs' program is built of
Kubernetes' sources into the cache folder of the other binaries (minutes, the first time). With
``--kube-scheduler`` that one schedules instead, which tells what can pass here at all. Exit status:
0 when all specs passed, 1 when one failed, 2 when they could not be run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from tests.rig import Kwok, Rig, RigError
from tests.rig.controllers import Controllers
from tests.rig.demo import node
from tests.rig.objects import create
from tests.rig.operators import Operator, install, wait_for
from tests.rig.processes import Child
from tests.tools import assets

FOCUS: Final = r"\[sig-scheduling\]"
NAME: Final = "default-scheduler"
NODES: Final = {"node-a": "a", "node-b": "b", "node-c": "c"}
SECONDS: Final = 3600
AGENTS: Final = ("kube-proxy", "fluentd-elasticsearch", "node-problem-detector")
"""What serial specs wait for on each node, a minute each time where it is not there."""


def build() -> Path:
    """The specs' program; built when it is not there."""
    program = assets.ensure() / "scheduling-specs.test"
    if not os.access(program, os.X_OK):
        print("building the specs (minutes)", file=sys.stderr, flush=True)
        source = Path(assets.__file__).parent / "specs"
        subprocess.run(
            ["go", "test", "-c", "-ldflags=-s -w", "-o", program, "."], cwd=source, check=True
        )
    return program


def reachable(number: int, name: str, zone: str) -> dict[str, Any]:
    """A node with an address and a disk, which some specs ask for."""
    made = node(name, zone)
    made["status"]["allocatable"] = made["status"]["capacity"] = {
        **made["status"]["capacity"],
        "ephemeral-storage": "100Gi",
    }
    made["status"]["addresses"] = [{"type": "InternalIP", "address": f"10.0.1.{number + 1}"}]
    return made


def agents(node: str) -> list[dict[str, Any]]:
    """The pods that a node of a whole cluster has: they ask for nothing, and are no victims."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{node}", "namespace": "kube-system"},
            "spec": {
                "nodeSelector": {"kubernetes.io/hostname": node},
                "priorityClassName": "system-node-critical",
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "main", "image": "registry.example/agent:1"}],
            },
        }
        for name in AGENTS
    ]


def serve(rig: Rig, stack: ExitStack, *, kube_scheduler: bool) -> None:
    """Have somebody schedule."""
    if kube_scheduler:
        command: list[str | Path] = [
            rig.assets / "kube-scheduler",
            f"--kubeconfig={rig.kubeconfig}",
            "--leader-elect=false",
            "--secure-port=0",
            *rig.gates,
        ]
        child = Child(command, rig.folder / "kube-scheduler.log", rig.environment)
        stack.callback(child.stop)
        return
    kubeconfig = install(rig)
    metadata, spec = {"name": "default"}, {"schedulerName": NAME}
    profile = {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": metadata,
        "spec": spec,
    }
    rig.kubectl("create", "-f", "-", input=json.dumps(profile))
    operator = stack.enter_context(Operator(rig, kubeconfig, "moorage-0"))
    stack.callback(
        lambda: print("operator's warnings and errors:", *_complaints(operator), sep="\n  ")
    )
    wait_for(rig, "Ready", "sprof/default", seconds=60)


def _complaints(operator: Operator) -> list[str]:
    return sorted(
        {str(line["msg"]) for line in operator.log() if line.get("level") in ("WARNING", "ERROR")}
    )


def main() -> int:
    """Run the specs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kube-scheduler", action="store_true")
    parser.add_argument("--focus", default=FOCUS)
    wanted = parser.parse_args()
    try:
        program = build()
        with ExitStack() as stack:
            rig = stack.enter_context(Rig(assets.ensure(), ["--allow-privileged=true"]))
            stack.enter_context(Controllers(rig))
            stack.enter_context(Kwok(rig))
            nodes = [
                reachable(number, name, zone) for number, (name, zone) in enumerate(NODES.items())
            ]
            create(rig, *nodes, *(pod for name in NODES for pod in agents(name)))
            serve(rig, stack, kube_scheduler=wanted.kube_scheduler)
            ready = ("wait", "--for=condition=Ready", "--all", "--timeout=60s")
            rig.kubectl(*ready, "nodes")
            rig.kubectl(*ready, "pods", "--namespace=kube-system")
            command: list[str | Path] = [
                program,
                f"--kubeconfig={rig.kubeconfig}",
                "--provider=skeleton",
                f"--ginkgo.focus={wanted.focus}",
                "--ginkgo.v",
                "--ginkgo.no-color",
                f"--ginkgo.timeout={SECONDS}s",
                "--minStartupPods=0",
                "--delete-namespace=true",
                "--num-nodes=3",
            ]
            return min(
                subprocess.run(
                    command, check=False, env=rig.environment, timeout=SECONDS + 60
                ).returncode,
                1,
            )
    except (RigError, assets.AssetsError, subprocess.CalledProcessError) as error:
        print(f"the specs could not be run: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
