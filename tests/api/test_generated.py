"""Generated files are what they would be if they were generated now."""

from __future__ import annotations

from tests.generate import KUSTOMIZED, ROOT, outdated
from tests.tools.required_assets import required_assets


def test_generated_files_are_up_to_date() -> None:
    """Somebody who changes a model, a reason, a plugin or a metric runs `make generate`."""
    assert [str(path.relative_to(ROOT)) for path in outdated()] == []


def test_what_is_made_of_manifests_is_up_to_date() -> None:
    """Somebody who changes a manifest, too, or a file that is made into one, such as a CRD."""
    required_assets()
    assert [str(path.relative_to(ROOT)) for path in outdated(KUSTOMIZED)] == []
