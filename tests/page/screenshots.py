"""Pictures of the page for docs/: ``python -m tests.page.screenshots [FOLDER]``. Look at them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tests.architecture.sources import ROOT
from tests.page.browsing import DESK, PHONE, Visit, chromium, served
from tests.page.conftest import FIXTURES

FOLDER: Final = ROOT / "docs" / "screenshots"
PICTURES: Final = {
    # name: view, theme, size
    "overview": ("", "light", DESK),
    "fragmentation": ("nodes?by=fragmentation&node=gpu-a100-0117", "dark", DESK),
    "pending": ("pods/ml/eval-vision-0", "light", DESK),
    "recordings": ("recordings?at=2026-11-27T11:47:10Z", "dark", DESK),
    "compare": ("compare", "light", DESK),
    "phone": ("", "light", PHONE),
}


def main(folder: Path) -> None:
    """Draw all of them; what moves has come to rest."""
    folder.mkdir(parents=True, exist_ok=True)
    with served(FIXTURES, "harbor") as address, chromium() as browser:
        for name, (path, theme, (width, height)) in PICTURES.items():
            context = browser.new_context(
                viewport={"width": width, "height": height}, reduced_motion="reduce"
            )
            page = Visit(context.new_page(), address).open(path, theme)
            page.wait_for_timeout(800)
            page.screenshot(path=folder / f"{name}.png")
            context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
