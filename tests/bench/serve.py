"""Run the operator for a measurement: ``python tests/bench/serve.py KUBECONFIG NAME [run's
flags]``.

Becomes ``moorage run`` with leader election on. Beside it ``prepare.py`` makes CRDs and a profile:
an administrator has done that long before, so the operator does not wait for it here either. The
command for a referee that starts schedulers by a template.
"""

import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Have the cluster prepared, and become the operator."""
    kubeconfig, name, *flags = sys.argv[1:]
    subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("prepare.py")), kubeconfig, name]
    )
    os.execv(
        sys.executable,
        [
            sys.executable,
            "-I",
            "-m",
            "moorage",
            "run",
            "--kubeconfig",
            kubeconfig,
            "--secure-port=0",
            *flags,
        ],
    )


if __name__ == "__main__":
    main()
