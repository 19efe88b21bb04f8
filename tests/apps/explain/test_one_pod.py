"""Which part of a revision can be asked outside of the loop that decides."""

from __future__ import annotations

import dataclasses
from typing import Any

from moorage.apps.explain.one_pod import askable
from moorage.core.framework.extenders import Extender
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.plugins.node_name import NodeName
from tests.engine.worlds import RESOLVER, a_body

REVISION = RESOLVER(a_body("test"), {}).revision


class Guarded:
    """As ``core.framework.guard`` makes plugins of packages."""

    guard = None


def test_plugins_of_the_tree_are_all_asked() -> None:
    """Then it is the same revision, with all that is known of it."""
    assert askable(REVISION, packages=False) == (REVISION, [])


def test_strangers_are_left_out_and_named() -> None:
    """At every point, with their weights; and extenders are named by their address."""
    strange: Any = Guarded()
    points = {point: ("Strange", *names) for point, names in REVISION.points.items()}
    revision = dataclasses.replace(
        REVISION,
        points=points,
        deciders={**REVISION.deciders, "Strange": strange},
        weights={**REVISION.weights, "Strange": 3},
        extenders=(Extender("https://extender.test"),),
    )
    assert askable(revision, packages=True)[1] == ["https://extender.test"]
    part, names = askable(revision, packages=False)
    assert names == ["Strange", "https://extender.test"]
    assert (part.points, part.weights) == (REVISION.points, REVISION.weights)
    assert part.deciders == REVISION.deciders
    assert part.extenders == ()
    assert isinstance(part.deciders["NodeName"], NodeName)
    assert part.points[ExtensionPoint.FILTER]
