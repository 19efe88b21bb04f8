"""Conditions, whoever wrote them and whatever they left out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank.model import conditions
from towtank_tests.in_memory import InMemoryCluster, content

CORE = "/api/v1/namespaces/default"
MERGE = "application/merge-patch+json"
POD = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
TYPES = st.sampled_from(["Ready", "Available", "DisruptionTarget", ""])
ANY = st.fixed_dictionaries(
    {},
    optional={
        "type": TYPES,
        "status": st.sampled_from(["True", "False"]),
        "lastTransitionTime": st.just("then"),
    },
)
SAID = st.fixed_dictionaries({"type": TYPES, "status": st.sampled_from(["True", "False"])})


@given(st.none() | st.lists(ANY), SAID)
def test_a_status_that_stays_keeps_its_time(
    written: list[dict[str, Any]] | None, said: dict[str, Any]
) -> None:
    """Where whoever wrote it said a time; all other conditions stay as they are."""
    body: dict[str, Any] = {"status": {"conditions": written}}
    before, dated = (
        conditions.find(body, said["type"]),
        conditions.with_transition_time(body, said, "now"),
    )
    kept = before.get("status") == said["status"] and "lastTransitionTime" in before
    assert dated == {**said, "lastTransitionTime": "then" if kept else "now"}
    after = conditions.merged_conditions(body, dated)
    assert [one for one in after if one.get("type", "") != said["type"]] == [
        one for one in written or () if one.get("type", "") != said["type"]
    ]
    assert dated in after


@pytest.mark.parametrize(
    "conditions_",
    [[{"status": "True"}], [{}], [{"type": "A"}], [{"type": "Ready", "status": "True"}]],
)
@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{CORE}/pods", POD),
        ("/api/v1/nodes", {"metadata": {"name": "one"}}),
        (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            {"metadata": {"name": "one"}, "spec": {"minAvailable": 1}},
        ),
    ],
)
def test_an_object_stays_of_use_whatever_its_conditions_are(
    path: str, body: dict[str, Any], conditions_: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Refused or stored, later writes go on, and who follows changes hears of them."""
    asked = InMemoryCluster()
    assert asked.ask("POST", path, body).code == 201
    assert asked.ask(
        "PATCH", f"{path}/one/status", {"status": {"conditions": conditions_}}, MERGE
    ).code in (200, 422)
    assert (
        asked.ask("PATCH", f"{path}/one", {"metadata": {"labels": {"a": "b"}}}, MERGE).code == 200
    )
    assert asked.ask("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io").code == 200
    if path.endswith("/pods"):
        assert (
            asked.ask(
                "POST",
                f"{path}/one/binding",
                {"metadata": {"name": "one"}, "target": {"name": "n"}},
            ).code
            == 201
        )
        assert asked.ask("POST", f"{path}/one/eviction", {"metadata": {"name": "one"}}).code == 201
    asked.settle()
    assert not caplog.records


@pytest.mark.parametrize("type_", ["", "a b", "/a"])
def test_a_pods_conditions_have_names(type_: str) -> None:
    """As labels are named."""
    asked = InMemoryCluster()
    asked.ask("POST", f"{CORE}/pods", POD)
    refused = asked.ask(
        "PATCH",
        f"{CORE}/pods/one/status",
        {"status": {"conditions": [{"type": type_, "status": "True"}]}},
        MERGE,
    )
    assert refused.code == 422
    assert {cause["field"] for cause in content(refused)["details"]["causes"]} == {
        "status.conditions[0].Type"
    }
