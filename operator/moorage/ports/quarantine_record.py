"""The quarantine record: plugins from outside the tree that a replica hung in, written down where
the next one sees it.

The record stands in an annotation of the leader's Lease, so it outlives the process, and everybody
who may lead may write it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

QUARANTINE_ANNOTATION = "moorage.dev/quarantine"
"""On the leader's Lease: a JSON object of plugin name to the version of its package that hung."""


def parse_annotations(annotations: Mapping[str, str] | None) -> dict[str, str]:
    """Plugin -> version; nothing where somebody wrote something else."""
    try:
        found = json.loads((annotations or {}).get(QUARANTINE_ANNOTATION) or "{}")
    except ValueError:
        return {}
    return (
        {str(plugin): str(version) for plugin, version in found.items()}
        if isinstance(found, dict)
        else {}
    )


def annotation_value(plugins: Mapping[str, str]) -> dict[str, str]:
    """The annotation that says so."""
    return {QUARANTINE_ANNOTATION: json.dumps(dict(sorted(plugins.items())))}
