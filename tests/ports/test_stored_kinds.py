"""Stored kinds have names of their own, also where their plurals are the same."""

from __future__ import annotations

from moorage.ports.stored_kinds import POD_GROUPS, STORED_KINDS


def test_names_and_paths_are_told_apart() -> None:
    """Lists, metrics and synced kinds go by them."""
    for told in ("name", "path"):
        assert len({getattr(kind, told) for kind in STORED_KINDS}) == len(STORED_KINDS)


def test_pod_groups() -> None:
    """The API calls all of them PodGroup; others' names have their group."""
    assert [(kind.kind, kind.name) for kind in POD_GROUPS] == [
        ("PodGroup", "podgroups"),
        ("PodGroup", "podgroups.scheduling.x-k8s.io"),
        ("PodGroup", "podgroups.scheduling.volcano.sh"),
    ]
