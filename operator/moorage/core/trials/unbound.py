"""Unbound revisions: what is asked about pods that another revision places."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.revisions import Revision

_NOBODY: Mapping[ExtensionPoint, tuple[str, ...]] = {
    ExtensionPoint.POST_FILTER: (),
    ExtensionPoint.POD_GROUP_POST_FILTER: (),
}


def unbound(revision: Revision) -> Revision:
    """The same, making room for nobody: where no node fits, no postFilter is asked.

    ``cycle.decide`` asks no extender, reserves and commits nothing. With a context of the caller's
    own over the live cache nothing is left of its decision.
    """
    return dataclasses.replace(revision, points={**revision.points, **_NOBODY})
