"""Profiles on the page: pods and decisions name their schedulerName, which may be another name."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Locator, expect

from moorage.api.v1alpha1.scheduler_profile_status import TrialStatus
from tests.apps.ui.harbor import TRIAL
from tests.page.browsing import Visit


def colour(row: Locator) -> str | None:
    """That of a profile, in a row."""
    return row.locator(".swatch[class*=profile-]").first.get_attribute("class")


def test_the_queue_of_a_profile_is_that_of_its_scheduler(visit: Callable[..., Visit]) -> None:
    """Of profile gpu, whose pods name gpu-jobs."""
    page = visit().open("queue?profile=gpu")
    expect(page.get_by_role("link", name="ml/eval-vision", exact=False)).to_be_visible()
    expect(page.locator("tbody")).not_to_contain_text("batch")


def test_a_trial_is_told_in_numbers(visit: Callable[..., Visit]) -> None:
    """Those of status.trial, whose fields are the API's."""
    assert TRIAL.keys() == {field.alias or name for name, field in TrialStatus.model_fields.items()}
    here = visit()
    words = here.open("profiles/binpack").locator(".trial-words")
    expect(words).to_contain_text("287 same node")
    expect(words).to_contain_text("21 other node")
    moved = here.open("profiles/binpack").get_by_role("table", name="Pods that went elsewhere")
    expect(moved.locator("tbody tr")).to_have_count(3)
    expect(moved.locator("tbody tr").first).to_contain_text("general-1843→ general-2210")
    row = here.open("profiles").get_by_role("row").filter(has_text="pods name binpack").first
    expect(row).to_contain_text("312 pairs · 287 same node · 0 regressions")


def test_a_profile_has_one_colour(visit: Callable[..., Visit]) -> None:
    """In the list of profiles, in the queue, at a pod, among decisions."""
    here = visit()
    colours = [colour(here.open("profiles").get_by_role("row", name="gpu", exact=False).first)]
    for path, text in (("queue?profile=gpu", "gpu-jobs"), ("recordings", "gpu-jobs")):
        colours.append(colour(here.open(path).get_by_role("row").filter(has_text=text).first))
    colours.append(colour(here.open("pods/ml/eval-vision-0").locator(".facts-line")))
    assert None not in colours
    assert len(set(colours)) == 1


def test_a_rate_is_drawn_in_its_profile_s_colour(visit: Callable[..., Visit]) -> None:
    """An hour of it, with what it is now beside; in the overview as in the list."""
    for view in ("", "profiles"):
        rows = visit().open(view).locator("tbody tr:has(.spark)")
        expect(rows).to_have_count(4)
        for row in rows.all():
            drawn = row.locator(".spark")
            place = (colour(row) or "").partition("profile-")[2][:1]
            expect(drawn).to_have_class(f"spark profile-line-{place}")
            line = drawn.locator("path:not(.area)").get_attribute("d") or ""
            assert line.count("L") == 59, "a point a minute"
            expect(row.locator(".placed")).to_have_text(re.compile(r"\d\.\d"))
