"""The control plane of `make demo-real`, and what tests put on a rig: ``python -m tests.rig.demo
--nodes 6 --zones 3``.

As a process it does what ``python -m towtank`` does: it prints one line of JSON when it is ready,
and ends when its standard input closes. Its line names the operator's own kubeconfig too, since
here rights are checked.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import Any, Final

from tests.rig import Kwok, Rig, RigError
from tests.rig.controllers import Controllers
from tests.rig.kwok import NODE_ANNOTATION
from tests.rig.objects import create
from tests.rig.operators import install
from tests.tools import assets
from towtank import node_shapes

ZONES: Final = ("a", "b", "c")


def main(arguments: list[str]) -> int:
    """Run until standard input closes; 1 when something could not be started."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.rig.demo", description="A real control plane with pretended nodes."
    )
    parser.add_argument("--nodes", type=int, default=6)
    parser.add_argument("--zones", type=int, default=3)
    parser.add_argument(
        "--shape", type=Path, help="a YAML file of nodes, instead of --nodes and --zones"
    )
    options = parser.parse_args(arguments)
    try:
        if options.shape is not None:
            nodes = node_shapes.read_shape(
                options.shape.read_text(encoding="utf-8"), str(options.shape)
            )
        else:
            nodes = node_shapes.like_nodes(options.nodes, options.zones)
        with redirect_stdout(sys.stderr):
            binaries = assets.ensure()
        with ExitStack() as stack:
            print(json.dumps(start(stack, binaries, nodes)), flush=True)
            sys.stdin.read()
    except (OSError, RigError, assets.AssetsError, node_shapes.ShapeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def start(stack: ExitStack, binaries: Path, nodes: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Start everything; ``stack`` ends it. What the line says."""
    rig = stack.enter_context(Rig(binaries))
    stack.enter_context(Controllers(rig))
    stack.enter_context(Kwok(rig))
    operator = install(rig)
    create(rig, *map(pretended, nodes))
    return {"server": rig.server, "kubeconfig": str(rig.kubeconfig), "operator": str(operator)}


def pretended(node: Mapping[str, Any]) -> dict[str, Any]:
    """A node that kwok looks after."""
    metadata = node["metadata"]
    return {
        **node,
        "metadata": {
            **metadata,
            "annotations": {**metadata.get("annotations", {}), **NODE_ANNOTATION},
        },
    }


def node(name: str, zone: str) -> dict[str, Any]:
    """A node of kwok's."""
    room = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{zone}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": dict(NODE_ANNOTATION)},
        "status": {"allocatable": room, "capacity": room},
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
