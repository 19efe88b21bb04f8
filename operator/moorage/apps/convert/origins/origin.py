"""Origin: where a configuration comes from, and what becomes of the documents that only users of
that scheduler have.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from moorage.apps.convert.remarks import ConversionRemark
from moorage.apps.convert.source_documents import WantedDocuments


class OriginResult(NamedTuple):
    """Specs of SchedulerProfiles, each with its schedulerName, and what has no place in them."""

    specs: tuple[dict[str, Any], ...]
    remarks: tuple[ConversionRemark, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """``convert`` takes a document that is wanted, whatever it has in it."""

    what: str
    """What the document is called, for who has none of them."""
    wanted: WantedDocuments
    convert: Callable[[Mapping[str, Any]], OriginResult]
    manager: str = ""
    """Who runs the cluster's own kube-scheduler; then the profiles are those of the
    KubeSchedulerConfigurations beside the document or within.
    """


def objects_at(path: str, value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a list, each with its path; what else may stand there is passed over."""
    for i, one in enumerate(value if isinstance(value, list) else ()):
        if isinstance(one, dict):
            yield f"{path}[{i}]", one
