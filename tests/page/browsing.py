"""Chromium, and one page of it that notes what goes wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from tests.architecture.sources import ROOT

# It asks nobody but us: no updates, no look-ups.
ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
)
DESK, PHONE, SMALL = (1440, 900), (390, 844), (320, 640)
SHOWN: Final = "main .sentence:not(.well)"
"""What a view has once its document is there."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's; the test is skipped where there is none, but never in CI."""
    program = shutil.which("chromium")
    if program is None and not os.environ.get("CI"):
        pytest.skip("needs chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def served(*words: str) -> Iterator[str]:
    """The address that opens what a module of ours serves in a process of its own: ``words`` are
    its name and what it is told.
    """
    command = (sys.executable, "-m", *words)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class Visit:
    """A page that has been let in, and what went wrong on it."""

    def __init__(self, page: Page, opening: str) -> None:
        self.page = page
        self.wrong: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.goto(opening)
        page.wait_for_url("**/ui/**")
        self.base = page.url.partition("/ui/")[0] + "/ui/"
        self._origin = self.base.removesuffix("/ui/")
        page.on("request", self._see)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)

    def _see(self, request: Request) -> None:
        if not request.url.startswith((self._origin, "data:", "blob:")):
            self.wrong.append(f"asks {request.url}")

    def open(self, path: str, theme: str = "light") -> Page:
        """A view, with its document; ``theme`` is kept by the address."""
        self.page.goto(f"{self.base}{path}{'&' if '?' in path else '?'}theme={theme}")
        self.page.wait_for_selector(SHOWN)
        return self.page

    def violations(self, *rules: str) -> list[str]:
        """What axe finds; all rules unless some are named."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE_SCRIPT)
        options: dict[str, Any] = {"resultTypes": ["violations"]}
        if rules:
            options["runOnly"] = list(rules)
        found = self.page.evaluate("options => axe.run(document, options)", options)
        return [
            f"{one['id']}: {node['html'][:160]}"
            for one in found["violations"]
            for node in one["nodes"]
        ]
