"""Revision content: all by which a profile decides, as one document. Its hash is the revision's
name, so the same content has the same name wherever it is said: in the spec, in a PluginConfig or
by a preset, in this cluster or in a file.

In it are the plugins of each extension point in order, their weights and arguments, percentage,
extenders and backoffs, the operator's values for what the profile leaves out included. Not in it
are which pods the profile decides for (schedulerName), whether it does (suspend, paused), and what
others write into objects (UID, generation, labels). Arguments and fields of extenders that have
their default are left out, so that one that a later version adds changes no name.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from moorage.api import plugin_args
from moorage.api.v1alpha1.common import VERSION
from moorage.core.framework.extenders import Extender
from moorage.core.framework.registry import Registry
from moorage.core.framework.revisions import Revision

NAME_CHARACTERS = 8
"""Hex digits of a name. A profile keeps a few revisions: two of the same name are no matter."""

Content = Mapping[str, Any]


def content(
    revision: Revision, args: Mapping[str, Any], backoffs: tuple[float, float], registry: Registry
) -> Content:
    """The content of a revision. ``args`` are those of its plugins that are not the plugin's own
    defaults; ``backoffs`` initial and maximum, in seconds. Raises DecodeError for a plugin from
    outside the tree that fails.
    """
    names = {name for chosen in revision.points.values() for name in chosen}
    given = {
        name: plugin_args.encode_set(registry[name], args[name])
        for name in sorted(names & args.keys())
    }
    return {
        "version": VERSION,
        "plugins": {point.value: chosen for point, chosen in revision.points.items()},
        "weights": dict(revision.weights),
        "placementWeights": dict(revision.placement_weights),
        "args": {name: document for name, document in given.items() if document},
        "percentageOfNodesToScore": revision.percentage_of_nodes_to_score,
        "extenders": [_extender(extender) for extender in revision.extenders],
        "backoffs": [float(seconds) for seconds in backoffs],
    }


def name(content: Content) -> str:
    """The name of what has this content."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:NAME_CHARACTERS]


def canonical(content: Content) -> str:
    """The content as JSON, the same for the same content."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), default=_plain)


def _extender(extender: Extender) -> dict[str, Any]:
    return {
        field.name: value
        for field in dataclasses.fields(extender)
        if (value := getattr(extender, field.name)) != field.default
    }


def _plain(value: object) -> object:
    """What JSON has no word for: sets, which have no order, and what else arguments may hold."""
    return sorted(value, key=repr) if isinstance(value, set | frozenset) else str(value)
