"""The documentation as a site: whole, and by itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.rig.operators import ROOT

_LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]+src=[\"']?(https?:)?//"
    r"|<link(?![^>]+rel=[\"']?(?:canonical|next|prev))[^>]+href=[\"']?(https?:)?//"
    r"|url\([\"']?(https?:)?//"
)


def test_site_is_whole_and_loads_nothing_from_outside(tmp_path: Path) -> None:
    """Every link leads somewhere, every page is in the table of contents, and a browser without a
    network has all it needs.
    """
    mkdocs = Path(sys.executable).with_name("mkdocs")
    done = subprocess.run(
        [mkdocs, "build", "--strict", "--quiet", "--site-dir", tmp_path],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 30
    outside = {
        path.name: found[0]
        for path in (*pages, *tmp_path.rglob("*.css"))
        if (found := _LOADED.search(path.read_text(encoding="utf-8")))
    }
    assert not outside
