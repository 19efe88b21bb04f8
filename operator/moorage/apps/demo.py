"""Demo: a whole local cluster with the operator at work, started from the checkout.

The control plane that it needs (etcd, kube-apiserver, kwok) is the tests' own rig, which is not part of the package.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from moorage.apps import resources

HOW = "moorage demo needs a checkout of moorage, since its control plane is built there: clone the repository and run `make demo`"


class NoCheckout(Exception):
    """There is nothing to run the demo from; the text says how to get it."""


def run() -> NoReturn:
    """Become the demo. Raises NoCheckout."""
    root = resources.checkout()
    if root is None or not (root / "tests" / "rig" / "demo.py").is_file():
        raise NoCheckout(HOW)
    os.chdir(root)
    os.execv(sys.executable, [sys.executable, "-m", "tests.rig.demo"])  # noqa: S606 - nothing of it comes from outside
