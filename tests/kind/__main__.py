"""Build the image, run it on a cluster of kind, and see it place the sample pods: ``python -m
tests.kind [--keep] [--built]``.

What is only here: the image in a container runtime, real kubelets, and a network between them.
Exit code 0 when all went well, 1 when a step failed, 2 when a program is missing. The cluster is
deleted at the end.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import moorage

ROOT: Final = Path(__file__).resolve().parents[2]
CONFIG: Final = Path(__file__).with_name("kind.yaml")
IMAGE: Final = f"moorage:{moorage.__version__}"
"""The name that the manifests have."""
PROGRAMS: Final = {
    "docker": "Docker runs the nodes",
    "kind": "go install sigs.k8s.io/kind@latest",
    "kubectl": "make assets builds it",
}
_NAMESPACE: Final = "--namespace=moorage-system"
_WAIT: Final = "--timeout=180s"


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.kind", description="Run on kind.")
    parser.add_argument("--keep", action="store_true", help="leave the cluster for looking at it")
    parser.add_argument("--built", action="store_true", help=f"{IMAGE} is built already")
    options = parser.parse_args(arguments)
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        for name in missing:
            print(f"kind: there is no {name} on the path: {PROGRAMS[name]}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = str(Path(folder) / "kubeconfig")
        try:
            return _follow(list(steps(kubeconfig, options.built)), kubeconfig)
        finally:
            if not options.keep:
                command = ["kind", "delete", "cluster", "--name=moorage"]
                subprocess.run([*command, f"--kubeconfig={kubeconfig}"], check=False)


def steps(kubeconfig: str, built: bool) -> Iterator[list[str]]:
    """The commands, in order."""
    if not built:
        yield ["docker", "build", f"--tag={IMAGE}", str(ROOT)]
    yield ["kind", "create", "cluster", f"--config={CONFIG}", f"--kubeconfig={kubeconfig}"]
    yield ["kind", "load", "docker-image", IMAGE, "--name=moorage"]
    yield ["kubectl", "apply", "-k", str(ROOT / "manifests" / "default")]
    yield ["kubectl", "rollout", "status", "deployment/moorage", _NAMESPACE, _WAIT]
    yield ["kubectl", "apply", "-f", str(ROOT / "manifests" / "samples")]
    yield ["kubectl", "wait", "--for=condition=Ready", "schedulerprofile", "--all", _WAIT]
    yield ["kubectl", "wait", "--for=condition=PodScheduled", "pod", "--all", _WAIT]
    yield ["kubectl", "delete", "-f", str(ROOT / "manifests" / "samples"), _WAIT]
    yield ["kubectl", "delete", "-k", str(ROOT / "manifests" / "default"), _WAIT]


def _follow(commands: list[list[str]], kubeconfig: str) -> int:
    environment = {**os.environ, "KUBECONFIG": kubeconfig}
    for command in commands:
        print(f"$ {' '.join(command)}", flush=True)
        if subprocess.run(command, env=environment, check=False).returncode:
            print(f"kind: FAILED: {' '.join(command)}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
