"""What the page reads is of the types that say so, wherever it is from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from pydantic import ConfigDict, TypeAdapter

from moorage.apps.ui import page_documents as types
from tests.apps.ui.fixture_files import variants

FORBID: Final = ConfigDict(extra="forbid")
ADAPTERS: Final[Mapping[str, TypeAdapter[Any]]] = {
    "overview": TypeAdapter(list[types.OverviewDocument], config=FORBID),
    "status": TypeAdapter(list[types.StatusDocument], config=FORBID),
    "queue": TypeAdapter(list[types.QueueDocument], config=FORBID),
    "nodes": TypeAdapter(list[types.NodesDocument], config=FORBID),
    "node": TypeAdapter(list[types.NodeDocument], config=FORBID),
    "pod": TypeAdapter(list[types.ExplanationDocument], config=FORBID),
    "history": TypeAdapter(list[types.HistoryDocument], config=FORBID),
    "trial": TypeAdapter(list[types.TrialDocument], config=FORBID),
    "diff": TypeAdapter(list[types.DifferenceDocument], config=FORBID),
    "timeline": TypeAdapter(list[types.TimelineDocument], config=FORBID),
    "decisions": TypeAdapter(list[types.DecisionsDocument], config=FORBID),
    "compare": TypeAdapter(list[types.ComparisonDocument], config=FORBID),
    "find": TypeAdapter(list[types.FoundDocument], config=FORBID),
}
"""By path below api/; a list, as only what is in a type takes a configuration."""

FILES: Final = variants()


def documents(found: Any) -> Iterator[Mapping[str, Any]]:
    """Those of a fixture, which may have some by name."""
    if "apiVersion" in found:
        yield found
    else:
        for one in found.values():
            yield from documents(one)


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_invented_cluster_is_typed(name: str) -> None:
    """It is what the page is tested with."""
    of_all = (files[name] for files in FILES.values() if name in files)
    found = [one for some in of_all for one in documents(some)]
    assert found
    ADAPTERS[name].validate_python(found)
