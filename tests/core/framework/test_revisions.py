"""Profiles become revisions, or a list of everything that is wrong with them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import (
    EnabledPlugins,
    PluginRef,
    ProfileErrors,
    RequestedProfile,
    Revision,
    resolve,
)
from moorage.core.plugins import intree
from moorage.core.plugins.intree import INTREE
from tests.core.framework.plugins import PRESETS, REGISTRY, BlockArgs


def enabled(*names: str) -> EnabledPlugins:
    """A set that enables these."""
    return EnabledPlugins(tuple(PluginRef(name) for name in names))


def resolved(**changes: Any) -> Revision:
    """The revision of a profile with these fields."""
    return resolve(dataclasses.replace(RequestedProfile("test"), **changes), REGISTRY, PRESETS)


@pytest.mark.parametrize(
    ("plugins", "point", "want"),
    [
        pytest.param({}, ExtensionPoint.SCORE, ("Rank",), id="preset"),
        pytest.param(
            {"score": enabled("Stretch")},
            ExtensionPoint.SCORE,
            ("Rank", "Stretch"),
            id="added-behind",
        ),
        pytest.param(
            {"score": enabled("Stretch", "Rank")},
            ExtensionPoint.SCORE,
            ("Rank", "Stretch"),
            id="override-first",
        ),
        pytest.param(
            {
                "score": EnabledPlugins(disabled=("Rank",)),
                "preScore": EnabledPlugins(disabled=("Rank",)),
            },
            ExtensionPoint.SCORE,
            (),
            id="disabled-here",
        ),
        pytest.param(
            {"score": EnabledPlugins((PluginRef("Stretch"),), ("*",))},
            ExtensionPoint.SCORE,
            ("Stretch",),
            id="all-but-mine",
        ),
        pytest.param(
            {
                "multiPoint": enabled("Census"),
                "score": EnabledPlugins((PluginRef("Rank"),), ("Rank",)),
            },
            ExtensionPoint.SCORE,
            ("Census", "Rank"),
            id="disabled-and-enabled-goes-last",
        ),
        pytest.param(
            {"multiPoint": EnabledPlugins((PluginRef("Census"),), ("Rank",))},
            ExtensionPoint.SCORE,
            ("Census",),
            id="multipoint",
        ),
        pytest.param(
            {"multiPoint": EnabledPlugins((PluginRef("Rank", 9),))},
            ExtensionPoint.FILTER,
            ("Block",),
            id="replaced-in-place",
        ),
        pytest.param(
            {"multiPoint": EnabledPlugins((PluginRef("Sort"), PluginRef("Bind")), ("*",))},
            ExtensionPoint.FILTER,
            (),
            id="no-plugins-but-the-needed",
        ),
    ],
)
def test_expansion(
    plugins: dict[str, EnabledPlugins], point: ExtensionPoint, want: tuple[str, ...]
) -> None:
    """multiPoint and the point's own lists merge as kube-scheduler merges them."""
    assert resolved(plugins=plugins).points[point] == want


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param({}, {"Rank": 3}, id="the-preset's"),
        pytest.param(
            {"plugins": {"multiPoint": EnabledPlugins((PluginRef("Rank"),))}},
            {"Rank": 1},
            id="listed-again-without-weight",
        ),
        pytest.param(
            {"plugins": {"score": EnabledPlugins((PluginRef("Rank", 7),))}},
            {"Rank": 7},
            id="named-at-score",
        ),
        pytest.param(
            {"plugins": {"score": EnabledPlugins((PluginRef("Rank", 0),))}},
            {},
            id="named-at-score-with-weight-0",
        ),
        pytest.param({"weights": {"Rank": 5}}, {"Rank": 5}, id="weights-win"),
        pytest.param({"weights": {"Rank": 0}}, {}, id="weight-0-does-not-score"),
    ],
)
def test_weights(changes: dict[str, object], want: dict[str, int]) -> None:
    """The weight of a score plugin comes from weights, then score, then multiPoint."""
    assert resolved(**changes).weights == want


@pytest.mark.parametrize(
    ("changes", "path", "text"),
    [
        pytest.param({"preset": "Defualt"}, "preset", 'did you mean "Default"?', id="preset"),
        pytest.param(
            {"plugins": {"filter": enabled("Blok")}},
            "plugins.filter.enabled[0].name",
            'did you mean "Block"?',
            id="enabled",
        ),
        pytest.param(
            {"plugins": {"score": EnabledPlugins(disabled=("Rnk",))}},
            "plugins.score.disabled[0].name",
            "no plugin has this name",
            id="disabled",
        ),
        pytest.param(
            {"weights": {"Stretch": 2}},
            "weights[Stretch]",
            "not enabled at score",
            id="weight-of-one-not-enabled",
        ),
        pytest.param(
            {"weights": {"Rank": -1}}, "weights[Rank]", "must be between 0", id="negative-weight"
        ),
        pytest.param(
            {"plugins": {"score": EnabledPlugins((PluginRef("Rank", -1),))}},
            "plugins.score.enabled[0].weight",
            "must be between 0",
            id="negative-here",
        ),
        pytest.param(
            {"plugins": {"filter": enabled("Rank")}},
            "plugins.filter.enabled[0].name",
            "does not take part at filter",
            id="wrong-point",
        ),
        pytest.param(
            {"plugins": {"filter": enabled("Block", "Block")}},
            "plugins.filter.enabled[1].name",
            "enabled twice",
            id="twice",
        ),
        pytest.param(
            {"plugins": {"multiPoint": enabled("Census", "Rank", "Rank")}},
            "plugins.multiPoint.enabled[2].name",
            "enabled twice",
            id="multi",
        ),
        pytest.param(
            {"plugins": {"preScore": EnabledPlugins(disabled=("Rank",))}},
            "plugins.preScore",
            "enable both or neither",
            id="half-a-plugin",
        ),
        pytest.param(
            {"plugins": {"bind": EnabledPlugins(disabled=("*",))}},
            "plugins.bind",
            "at least one bind plugin",
            id="no-bind",
        ),
        pytest.param(
            {"plugins": {"queueSort": EnabledPlugins(disabled=("*",))}},
            "plugins.queueSort",
            "exactly one",
            id="no-queue-sort",
        ),
        pytest.param(
            {"args": {"Blok": BlockArgs()}},
            "pluginConfig[Blok]",
            "no plugin has this name",
            id="args-of-nobody",
        ),
    ],
)
def test_refusals(changes: dict[str, object], path: str, text: str) -> None:
    """Each fault is told with its path, and nothing is made."""
    with pytest.raises(ProfileErrors) as caught:
        resolved(**changes)
    assert [error for error in caught.value.errors if error.path == path and text in error.message]


def test_every_fault_is_told() -> None:
    """A profile with two faults gets both at once."""
    with pytest.raises(ProfileErrors) as caught:
        resolved(plugins={"filter": enabled("Blok"), "score": enabled("Rnk")})
    assert len(caught.value.errors) == 2


def test_what_a_swap_changed() -> None:
    """Only plugins whose arguments or places differ count as changed; a weight is neither."""
    old = resolved()
    assert resolved(weights={"Rank": 8}).changed_since(old) == frozenset()
    assert resolved(args={"Block": BlockArgs(frozenset({"n1"}))}).changed_since(old) == {"Block"}
    assert resolved(plugins={"score": enabled("Stretch")}).changed_since(old) == {"Stretch"}


def test_a_decider_is_made_once_for_its_arguments() -> None:
    """An edit elsewhere in a profile makes none again; other arguments make one."""
    first, edited = resolved(), resolved(percentage_of_nodes_to_score=50)
    assert all(edited.deciders[name] is plugin for name, plugin in first.deciders.items())
    assert not edited.changed_since(first)
    other = resolved(args={"Block": BlockArgs(frozenset("a"))})
    made = {name for name in other.deciders if other.deciders[name] is not first.deciders[name]}
    assert made == {"Block"} == other.changed_since(first)


def test_what_plugins_declare() -> None:
    """A revision has it together, as each of them says it."""
    revision = resolve(RequestedProfile("test"), build_registry(INTREE), intree.PRESETS)
    plugins: dict[str, Any] = dict(revision.deciders)
    assert revision.events_to_register == {n: p.events_to_register for n, p in plugins.items()}
    hinting = {n: p for n, p in plugins.items() if hasattr(p, "hint_signature")}
    assert hinting and revision.hint_signatures == {n: p.hint_signature for n, p in hinting.items()}
    kinds = {kind for p in plugins.values() for kind in getattr(p, "required_kinds", ())}
    assert kinds and revision.required_kinds == kinds
