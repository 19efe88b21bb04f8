"""The CRD's rules: what the API server refuses by them the operator refuses too, and each says what
to do.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api import crd_files
from moorage.api.v1alpha1.scheduler_profile import SchedulerProfile
from tests.api.profiles import resolve
from tests.api.refused_specs import REFUSED
from towtank.model.schema_nodes import SchemaNode
from towtank.schemas import pruning, schema_parser, validation_rules

VERSION = crd_files.crd(SchedulerProfile)["spec"]["versions"][0]
SPEC = schema_parser.parse(VERSION["schema"]["openAPIV3Schema"]).properties["spec"]


def refusals(spec: dict[str, Any]) -> list[tuple[str, str]]:
    """Path and text of each rule that refuses a new profile's spec, as a kube-apiserver has it."""
    whole = copy.deepcopy(spec)
    pruning.default(whole, SPEC)
    return [(cause.field, cause.text) for cause in validation_rules.refusals(whole, SPEC)]


def rules(node: SchemaNode) -> Iterator[tuple[str, str]]:
    """Expression and message of every rule."""
    yield from ((rule.rule, rule.message) for rule in node.rules)
    for child in (*node.properties.values(), node.items, node.additional):
        if isinstance(child, SchemaNode):
            yield from rules(child)


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_both(case: str) -> None:
    """With the path, and by the operator at that place or below it."""
    spec, path, sentence = REFUSED[case]
    assert (path, sentence) in [
        (field, text.removeprefix("Invalid value: ")) for field, text in refusals(spec)
    ]
    errors = resolve(spec).errors
    place = re.sub(r"\[\d+\]$", "", path)
    assert any(error.path.startswith(place) for error in errors), errors


def test_each_rule_has_its_case() -> None:
    """But for those of changes, which need what was before."""
    found = {message for text, message in rules(SPEC) if "oldSelf" not in text}
    assert found == {sentence for _, _, sentence in REFUSED.values()}


NAMES = st.sampled_from(
    ("NodeAffinity", "NodeName", "NodeResourcesFit", "ImageLocality", "DefaultBinder", "Nothing")
)
ENABLED = st.lists(NAMES, max_size=3).map(lambda names: [{"name": name} for name in names])
DISABLED = st.lists(NAMES | st.just("*"), max_size=3).map(
    lambda names: [{"name": name} for name in names]
)
PLUGIN_SET = st.fixed_dictionaries({}, optional={"enabled": ENABLED, "disabled": DISABLED})
POINTS = ("multiPoint", "queueSort", "filter", "score", "bind")
VERB = st.sampled_from(("", "verb"))
EXTENDER = st.fixed_dictionaries(
    {"urlPrefix": st.sampled_from(("http://e", "https://e", "HTTP://e", "HTTPS://e", "e", " "))},
    optional={
        "prioritizeVerb": VERB,
        "bindVerb": VERB,
        "weight": st.integers(0, 2),
        "enableHTTPS": st.booleans(),
        "tlsConfig": st.fixed_dictionaries(
            {}, optional={"insecure": st.booleans(), "secretRef": st.just({"name": "s"})}
        ),
    },
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "preset": st.sampled_from(("Default", "BinPack", "Spread", "NoScoring")),
        "plugins": st.fixed_dictionaries({}, optional=dict.fromkeys(POINTS, PLUGIN_SET)),
        "weights": st.dictionaries(NAMES, st.integers(0, 2), max_size=3),
        "extenders": st.lists(EXTENDER, max_size=2),
        "podInitialBackoffSeconds": st.integers(1, 3),
        "podMaxBackoffSeconds": st.integers(1, 3),
        "rollout": st.fixed_dictionaries(
            {},
            optional={
                "strategy": st.sampled_from(("Immediate", "Canary", "Shadow")),
                "canary": st.just({}),
                "shadow": st.just({}),
            },
        ),
    },
)


@given(SPECS)
def test_what_the_api_server_refuses_the_operator_refuses(spec: dict[str, Any]) -> None:
    """No rule is stricter than the operator: a profile that it takes can be applied."""
    if refusals(spec):
        assert resolve(spec).errors


def test_the_sentences_say_what_to_do() -> None:
    """Lower case, as they follow a path; no full stop, no expression, no field of CEL."""
    for _, sentence in rules(SPEC):
        assert sentence[0].islower() or sentence[0] in "aA", sentence
        assert not re.search(r"self|\.$|\n|&&", sentence), sentence
