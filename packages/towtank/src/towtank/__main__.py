"""``python -m towtank``: a cluster until standard input closes, or until it is told to stop."""

from __future__ import annotations

import sys

from towtank.cli import main

if __name__ == "__main__":
    sys.exit(main())
