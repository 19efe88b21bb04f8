"""One browser and one server for all tests of the page. They end with the package: Playwright keeps
an event loop running in the main thread, in which no other test could run one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Final

import pytest
from playwright.sync_api import Browser

from tests.page.browsing import DESK, Visit, chromium, served

FIXTURES: Final = "tests.apps.ui.serve_fixtures"


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="package")
def address() -> Iterator[Callable[[str], str]]:
    """Where a variant of the invented cluster is served, started when it is first asked for."""
    running: dict[str, str] = {}
    with ExitStack() as stack:

        def of(variant: str) -> str:
            if variant not in running:
                running[variant] = stack.enter_context(served(FIXTURES, variant))
            return running[variant]

        yield of


@pytest.fixture(scope="package")
def windows(
    browser: Browser, address: Callable[[str], str]
) -> Iterator[dict[tuple[tuple[int, int], str], Visit]]:
    """Windows by size and variant, kept from test to test."""
    with ExitStack() as stack:

        class Windows(dict[tuple[tuple[int, int], str], Visit]):
            def __missing__(self, key: tuple[tuple[int, int], str]) -> Visit:
                (width, height), variant = key
                context = browser.new_context(viewport={"width": width, "height": height})
                stack.callback(context.close)
                self[key] = Visit(context.new_page(), address(variant))
                return self[key]

        yield Windows()


@pytest.fixture
def visit(
    windows: dict[tuple[tuple[int, int], str], Visit],
) -> Iterator[Callable[..., Visit]]:
    """A window of a size, on a variant; nothing may have gone wrong on it by the end."""
    used: list[Visit] = []

    def begin(size: tuple[int, int] = DESK, variant: str = "harbor") -> Visit:
        used.append(windows[size, variant])
        used[-1].wrong.clear()
        used[-1].page.evaluate("localStorage.clear()")
        return used[-1]

    yield begin
    assert [wrong for one in used for wrong in one.wrong] == []
