"""Conditions of a status: found by type, and dated by when their status last changed. Who wrote one
may have left out any of it.
"""

from __future__ import annotations

from towtank.model.kinds import Body


def find(body: Body, kind: str) -> Body:
    """A condition of its status, {} for none."""
    return next(
        (
            one
            for one in (body.get("status") or {}).get("conditions") or ()
            if one.get("type") == kind
        ),
        {},
    )


def holds(body: Body, kind: str) -> bool:
    """Whether a condition is true."""
    return find(body, kind).get("status") == "True"


def with_transition_time(body: Body, said: Body, now: str) -> Body:
    """What is to be said of a body, with the time since when it is so: as long as the status stays,
    that of what was said before.
    """
    before = find(body, said["type"])
    since = before.get("lastTransitionTime") if before.get("status") == said.get("status") else None
    return {**said, "lastTransitionTime": since or now}


def merged_conditions(body: Body, *said: Body) -> list[Body]:
    """All of its conditions, with these in the places of what was said before; new ones come
    last.
    """
    new = {one["type"]: one for one in said}
    replaced = [
        new.pop(one.get("type", ""), one)
        for one in (body.get("status") or {}).get("conditions") or ()
    ]
    return [*replaced, *new.values()]
