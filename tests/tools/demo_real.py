"""`make demo-real`: `moorage demo` on the real control plane that ``tests.rig.demo`` starts. Run it
from the repository's root.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from moorage.apps.demo import demo


def main(arguments: list[str]) -> int:
    """The demo's exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.demo_real", description="The demo on kube-apiserver and etcd."
    )
    parser.add_argument("--nodes", type=int, default=6)
    parser.add_argument("--zones", type=int, default=3)
    parser.add_argument(
        "--shape", type=Path, help="a YAML file of nodes, instead of --nodes and --zones"
    )
    parser.add_argument("--tour", action="store_true", help="play what the operator can do")
    parser.add_argument(
        "--pace", type=float, default=8.0, help="seconds to read between the tour's steps"
    )
    parser.add_argument(
        "--exit-after-tour", action="store_true", help="play the tour without time to read, and end"
    )
    options = parser.parse_args(arguments)
    nodes = (
        [f"--nodes={options.nodes}", f"--zones={options.zones}"]
        if options.shape is None
        else [f"--shape={options.shape}"]
    )
    command = [sys.executable, "-m", "tests.rig.demo", *nodes]
    last = options.exit_after_tour
    print("Building the control plane takes some minutes the first time.", flush=True)
    return demo.run(
        demo.DemoOptions(command, None, options.tour or last, last, 0.0 if last else options.pace)
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
