"""The embedded cluster answers the recorded requests as the kube-apiserver did (record.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from towtank.model.requests import RequestTarget, WriteOptions
from towtank.storage.verbs import copied
from towtank_tests.strategies.case_cluster import CaseCluster
from towtank_tests.strategies.cases import CASES

_RECORDED: Final = json.loads((Path(__file__).parent.parent / "recorded_objects.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_a_kube_apiserver(name: str) -> None:
    """Bodies and refusals, word for word but for what masking leaves out."""
    cluster = CaseCluster()
    for step, expected in zip(CASES[name], _RECORDED[name], strict=True):
        answered = cluster.ask(*step)
        if (
            step[0] == "DELETE"
            and expected[1].get("kind") == "Status"
            and answered[0] == expected[0] == 200
        ):
            continue  # the layer above makes the Status of a removal
        # What is 500 there is the client's doing all the same.
        assert answered == (
            [400, expected[1] | {"code": 400, "reason": "BadRequest"}]
            if expected[0] == 500
            else expected
        ), step


@pytest.mark.parametrize("name", CASES)
def test_writing_back_what_was_read_changes_nothing(name: str) -> None:
    """Defaults come to rest, and what the server set is accepted from a client."""
    cluster = CaseCluster()
    for step in CASES[name]:
        cluster.ask(*step)
    before = cluster.verbs.store.revision
    for resource in cluster.catalogue:
        for stored in () if resource.mapping else cluster.verbs.store.list(resource.key):
            cluster.verbs.update(
                RequestTarget(resource, *stored.key), copied(stored), WriteOptions()
            )
    assert cluster.verbs.store.revision == before
