"""The page's files: small modules, nothing inline, licences beside what is vendored."""

from __future__ import annotations

import re

from tests.page.test_colours import STATIC
from tests.tools.vendor_page import VENDORED

MODULES = sorted((STATIC / "js").rglob("*.js"))


def test_modules_are_small() -> None:
    """A screenful or a few."""
    lines = {path.name: path.read_text(encoding="utf-8").count("\n") for path in MODULES}
    assert {name: count for name, count in lines.items() if count > 300} == {}


def test_nothing_is_inline() -> None:
    """What the content security policy refuses is not there to be refused."""
    index = (STATIC / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script(?! [^>]*src=)|<style|\sstyle=|\son\w+=", index) == []
    evaluating = re.compile(r"\beval\(|new Function|innerHTML|dangerouslySet")
    assert [path.name for path in MODULES if evaluating.search(path.read_text("utf-8"))] == []


def test_what_is_vendored_is_listed_with_its_licence() -> None:
    """No file that `make vendor` does not write."""
    vendor = STATIC / "vendor"
    found = {str(path.relative_to(vendor)) for path in vendor.rglob("*") if path.is_file()}
    listed = {f"{one.folder}/{name}" for one in VENDORED for name in (*one.files, "LICENSE")}
    assert found == listed
