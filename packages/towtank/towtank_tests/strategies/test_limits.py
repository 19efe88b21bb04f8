"""Bounds of sizes and numbers: each as a kube-apiserver 1.36 has it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from towtank_tests.strategies.case_cluster import CaseCluster
from towtank_tests.strategies.cases import APPS, CORE, PODS, container, named, pod

COST = "controller.kubernetes.io/pod-deletion-cost"
MEBIBYTE = 1024 * 1024


def message(path: str, body: dict[str, Any]) -> str:
    """What is wrong with it; "" for nothing."""
    code, answer = CaseCluster().ask("POST", path, body)
    assert code in (201, 422)
    return str(answer["message"]).partition(" is invalid: ")[2] if code == 422 else ""


@pytest.mark.parametrize(
    "text",
    ["--5", "x", "1.5", "", "+5", "2147483648", " 5", "05", "-", "1_0", "\u0663", "9" * 5000],
)
def test_what_a_deletion_costs_is_a_number(text: str) -> None:
    """Of 32 bits, of pods and of templates."""
    why = f'Invalid value: "{text}": must be a 32bit integer'
    one = pod("p")
    one["metadata"]["annotations"] = {COST: text}
    assert message(PODS, one) == f"metadata.annotations[{COST}]: {why}"
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {COST: text}},
        "spec": container(),
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    assert (
        message(f"{APPS}/replicasets", named("r", spec=spec))
        == f"spec.template.annotations[{COST}]: {why}"
    )


@pytest.mark.parametrize("text", ["0", "-0", "-05", "-5", "7", "2147483647", "-2147483648"])
def test_costs_are_accepted(text: str) -> None:
    """Also negative ones."""
    one = pod("p")
    one["metadata"]["annotations"] = {COST: text}
    assert not message(PODS, one)


@pytest.mark.parametrize(
    ("seconds", "grace"),
    [(1_000_000, 30), (31, 30), (-1, 30), (1, 0), (31, None), (30, 30), (0, 30), (0, 0)],
)
@pytest.mark.parametrize("hook", ["preStop", "postStart"])
def test_a_hook_sleeps_no_longer_than_the_grace(hook: str, seconds: int, grace: int | None) -> None:
    """Which is half a minute where nothing is said."""
    more = {} if grace is None else {"terminationGracePeriodSeconds": grace}
    said = message(
        PODS,
        named("p", spec={**container(lifecycle={hook: {"sleep": {"seconds": seconds}}}), **more}),
    )
    allowed = 30 if grace is None else grace
    text = f"must be non-negative and less than terminationGracePeriodSeconds ({allowed})"
    assert said == (
        ""
        if 0 <= seconds <= allowed
        else f"spec.containers[0].lifecycle.{hook}.sleep: Invalid value: {seconds}: {text}"
    )


@pytest.mark.parametrize("size", [MEBIBYTE, MEBIBYTE + 1])
def test_values_are_a_mebibyte_together(size: int) -> None:
    """Counted as bytes, not as letters or digits."""
    too_long = "Too long: may not be more than 1048576 bytes" if size > MEBIBYTE else ""
    coded = base64.b64encode(b"x" * (size - 4)).decode()
    maps, secrets = f"{CORE}/configmaps", f"{CORE}/secrets"
    assert message(maps, named("m", data={"a": "\u00e9" * 2}, binaryData={"b": coded})) == (
        too_long and f"[]: {too_long}"
    )
    assert message(secrets, named("s", stringData={"a": "\u00e9" * 2}, data={"b": coded})) == (
        too_long and f"data: {too_long}"
    )
