"""Generated files are what they would be if they were generated now."""

from __future__ import annotations

from tests.generate import ROOT, outdated


def test_generated_files_are_up_to_date() -> None:
    """Somebody who changes a model, a reason, a plugin or a metric runs `make generate`."""
    assert [str(path.relative_to(ROOT)) for path in outdated()] == []
