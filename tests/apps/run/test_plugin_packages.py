"""Packages of plugins: what they bring is joined to the tree's, and all that is wrong with them is
told at once.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moorage import plugin_api
from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.apps import check
from moorage.apps.run import operator_process, plugin_packages
from moorage.apps.run.plugin_packages import LoadedPlugins, PackageErrors
from moorage.apps.run.watchdog import CallMarks
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.registry import build_registry
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.engine.binding.actors.intree import ACTORS
from moorage.ports.stored_kinds import STORED_KINDS, kinds_in
from tests.engine.worlds import a_body
from tests.rig.operators import ROOT

Write = Callable[[str], str]
"""A package with this text; returns its name."""
_NUMBERS = itertools.count()

HEAD = """
import dataclasses
from typing import Any, ClassVar
from moorage.plugin_api import *

@dataclasses.dataclass(frozen=True)
class One:
    name: ClassVar[str] = "One"
    events_to_register: ClassVar = ()
    def filter_node(self, pod, node):
        return None
"""


def giving(*registrations: str, more: str = "") -> str:
    """A package's text."""
    return f"{HEAD}\n{more}\ndef plugins():\n    return [{', '.join(registrations)}]\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Makes packages that can be imported until the test ends."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = []

    def write(text: str) -> str:
        names.append(f"strange_{next(_NUMBERS)}")
        (tmp_path / f"{names[-1]}.py").write_text(text)
        return names[-1]

    yield write
    for name in names:
        sys.modules.pop(name, None)


def joined(*packages: str) -> LoadedPlugins:
    """These packages, joined to the tree's plugins."""
    return plugin_packages.load(
        packages, build_registry(INTREE), ACTORS, CallMarks(), lambda plugin, point: None
    )


def faults(*packages: str) -> list[str]:
    """What is said of them."""
    with pytest.raises(PackageErrors) as caught:
        joined(*packages)
    return list(caught.value.errors)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The example of docs/writing-plugins.md."""
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "example_plugin"))
    yield "rack_plugins"
    for name in [name for name in sys.modules if name.partition(".")[0] == "rack_plugins"]:
        del sys.modules[name]


def test_the_example(example: str) -> None:
    """Its plugins stand beside the tree's, take part where they should, and their resource is
    listed.
    """
    found = joined(example)
    assert found.registry.keys() - build_registry(INTREE).keys() == {"RackMaintenance", "SameRack"}
    assert found.registry["RackMaintenance"].points == {
        ExtensionPoint.PRE_FILTER,
        ExtensionPoint.FILTER,
    }
    assert found.registry["SameRack"].points == {ExtensionPoint.SCORE}
    assert [kind.path for kind in kinds_in(found.registry)[len(STORED_KINDS) :]] == [
        "/apis/example.com/v1/racks"
    ]


@pytest.mark.parametrize(
    ("args", "want"),
    [
        pytest.param({"preferredRack": "r1"}, "", id="good"),
        pytest.param({}, "", id="defaults"),
        pytest.param(
            {"preferredRack": 5},
            "pluginConfig[0].args.preferredRack: 5: must be a string",
            id="type",
        ),
        pytest.param(
            {"preferedRack": "r1"},
            'unknown field; did you mean "preferredRack"?',
            id="unknown field",
        ),
        pytest.param({"preferredRack": ""}, "pluginConfig[0].args.preferredRack", id="annotation"),
        pytest.param(
            {"preferredRack": "a/b"},
            "pluginConfig[0].args.preferredRack: 'a/b': a rack's name has no slash",
            id="its own rule",
        ),
    ],
)
def test_arguments_are_read_as_those_of_the_tree(
    example: str, args: dict[str, object], want: str
) -> None:
    """By their dataclass: types, bounds, unknown fields, and what it says itself."""
    resolver = Resolver(joined(example).registry, PRESETS)
    body = a_body(
        "p",
        plugins={"multiPoint": {"enabled": [{"name": "SameRack"}]}},
        pluginConfig=[{"name": "SameRack", "args": args}],
    )
    errors = resolver(body, {}).errors
    assert want in str(errors[0]) if want else not errors


RACK = """
class Rack(Struct, frozen=True):
    resource: ClassVar = {}
    metadata: ObjectMeta
One.required_kinds = frozenset({{Rack}})
"""
ONE = 'PluginRegistration(PluginSpec("One", One))'


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("raise ValueError('x')", "cannot be imported: ValueError: x", id="fails"),
        pytest.param(
            "raise SystemExit(0)", "cannot be imported: SystemExit: 0", id="would end the process"
        ),
        pytest.param("1 +", "cannot be imported: SyntaxError", id="is no Python"),
        pytest.param(HEAD, "has no function plugins()", id="no function"),
        pytest.param("plugins = 5", "has no function plugins()", id="no function but a number"),
        pytest.param(
            "def plugins(): return 1 / 0",
            "plugins() failed: ZeroDivisionError",
            id="the function fails",
        ),
        pytest.param("def plugins(): pass", "plugins() failed: TypeError", id="returns nothing"),
        pytest.param(
            "def plugins(): return [5]",
            "gave int instead of a PluginRegistration",
            id="returns something else",
        ),
        pytest.param(giving(ONE, ONE), "plugin 'One': strange_", id="the same name twice"),
        pytest.param(
            giving('PluginRegistration(PluginSpec("NodeName", One))', more="One.name = 'NodeName'"),
            "Moorage itself has a plugin of this name already",
            id="in the tree",
        ),
        pytest.param(
            giving('PluginRegistration(PluginSpec("Two", One))'),
            "plugin 'Two': One.name is 'One'",
            id="another name",
        ),
        pytest.param(
            giving('PluginRegistration(PluginSpec("Two", None))'),
            "it neither decides nor acts",
            id="nothing at all",
        ),
        pytest.param(
            giving(
                'PluginRegistration(PluginSpec("One", One, '
                "acts_at=frozenset({ExtensionPoint.BIND})))"
            ),
            "it acts at bind but has no actor",
            id="no actor",
        ),
        pytest.param(
            giving('PluginRegistration(PluginSpec("One", One), lambda tools: 5)'),
            "it has an actor but acts nowhere",
            id="idle actor",
        ),
        pytest.param(
            giving(
                'PluginRegistration(PluginSpec("One", One, '
                "acts_at=frozenset({ExtensionPoint.FILTER})), lambda tools: 5)"
            ),
            "an actor cannot act at filter",
            id="acts at filter",
        ),
        pytest.param(
            giving(
                'PluginRegistration(PluginSpec("One", One, '
                "acts_at=frozenset({ExtensionPoint.POST_FILTER})), lambda tools: 5)"
            ),
            "it acts at postFilter, so it needs post_filter",
            id="acts at postFilter, decides nothing there",
        ),
        pytest.param(
            giving('PluginRegistration(PluginSpec("One", One, Args))', more="class Args: pass"),
            "Args, are no dataclass",
            id="plain class as arguments",
        ),
        pytest.param(
            giving(
                'PluginRegistration(PluginSpec("One", One, Args))',
                more="@dataclasses.dataclass(frozen=True)\nclass Args:\n    x: int",
            ),
            "every field needs a default",
            id="arguments without a default",
        ),
        pytest.param(
            giving(ONE, more="del One.filter_node"),
            "it has no method of any extension point",
            id="no method",
        ),
        pytest.param(
            giving(ONE, more=RACK.format("None")),
            "Rack.resource: None: must be <plural>.<version>.<group>",
            id="a struct without a resource",
        ),
        pytest.param(
            giving(ONE, more=RACK.format("'racks'")),
            "Rack.resource: 'racks': must be",
            id="a resource without a version",
        ),
        pytest.param(
            giving(ONE, more="One.filter = One.explain = One.filter_node"),
            "so it needs reads",
            id="reads nothing",
        ),
        pytest.param(
            giving(ONE, more="One.filter, One.reads = One.filter_node, frozenset()"),
            "so it needs explain",
            id="no explain",
        ),
        pytest.param(
            giving(ONE, more="One.sort_key = One.filter_node"),
            "sort_key: one plugin of the tree",
            id="orders the queue",
        ),
        pytest.param(
            giving(ONE, more="One.required_kinds = [Pod]"),
            "required_kinds is no frozenset",
            id="a list of kinds",
        ),
        pytest.param(
            giving(ONE, more="One.required_kinds = frozenset({int})"),
            "no structs with metadata: int",
            id="no struct",
        ),
        pytest.param(
            giving(ONE, more="One.required_kinds = frozenset({Pod})"),
            "Pod need not be among its required_kinds",
            id="pods",
        ),
        pytest.param(
            giving(
                ONE,
                more=(
                    "One.events_to_register = (ClusterEventWithHint('racks.v1.example.com', "
                    "ActionType.ADD),)"
                ),
            ),
            "no struct of that resource",
            id="deaf",
        ),
    ],
)
def test_what_can_be_wrong(package: Write, text: str, want: str) -> None:
    """Each with the place in the configuration, the package and the plugin."""
    name = package(text)
    (fault,) = faults(name)
    assert fault.startswith(f"plugins.packages[0]: {name!r}: ")
    assert want in fault


def test_all_is_told_at_once(package: Write) -> None:
    """What is wrong with one package hides nothing of the others; good ones are not blamed."""
    good, clash, broken = (
        package(giving(ONE)),
        package(giving(ONE)),
        package("raise ValueError('x')"),
    )
    assert [fault.partition(": ")[0] for fault in faults(broken, good, clash, "not_there")] == [
        "plugins.packages[0]",
        "plugins.packages[2]",
        "plugins.packages[3]",
    ]


def test_two_structs_of_one_resource(package: Write) -> None:
    """Would be listed twice."""
    struct = (
        "class Rack{0}(Struct, frozen=True):\n    resource: ClassVar = 'racks.v1.example.com'\n  "
        "  metadata: ObjectMeta\n"
    )
    more = f"{struct.format(1)}{struct.format(2)}One.required_kinds = frozenset({{Rack1, Rack2}})"
    (fault,) = faults(package(giving(ONE, more=more)))
    assert "racks.v1.example.com is declared by two structs" in fault


def test_the_operator_does_not_start(package: Write, capfd: pytest.CaptureFixture[str]) -> None:
    """Status 2, all errors in the log, and nothing was connected to."""
    config = OperatorConfiguration.model_validate(
        {"plugins": {"packages": [package("x"), "not_there"]}}, strict=False
    )
    assert operator_process._operate(config, CallMarks()) == 2
    said = capfd.readouterr().err
    assert "plugins.packages[0]" in said
    assert "plugins.packages[1]" in said


def test_check_knows_them(package: Write, tmp_path: Path) -> None:
    """With the operator's configuration; without it, their plugins are unknown."""
    file = tmp_path / "p.yaml"
    file.write_text(
        "{apiVersion: moorage.dev/v1alpha1, kind: SchedulerProfile, metadata: {name: p},"
        " spec: {plugins: {multiPoint: {enabled: [{name: One}]}}}}"
    )
    config = OperatorConfiguration.model_validate(
        {"plugins": {"packages": [package(giving(ONE))]}}, strict=False
    )
    assert (check.check([file], config).status, check.check([file]).status) == (0, 1)


def test_versions() -> None:
    """From what is installed; a folder that nobody installed has none."""
    assert plugin_packages.version_of("numpy")[0].isdigit()
    assert plugin_packages.version_of("yaml")[0].isdigit()
    assert plugin_packages.version_of("nobody_installed_this") == "unknown"


def test_the_public_surface() -> None:
    """A name that goes or changes breaks other people's plugins: it takes a new version, and a line
    in the changelog.
    """
    names = sorted(name for name in vars(plugin_api) if not name.startswith("_"))
    assert names == sorted(plugin_api.__all__)
    assert plugin_api.__all__ == PINNED.split()


PINNED = """
ARGUMENTS MAX_NODE_SCORE SKIP SUCCESS ActionType ActorTools Aspect BindActor ClusterEvent
ClusterEventWithHint Code Codes DependentPlugin EventResource ExtensionPoint FailedAttempt
FallibleFilterPlugin FeasibleScorePlugin FieldErrorType FilterPlugin GroupSpec HasMetadata Lister
Node NodeScores ObjectMeta ObjectReadingPlugin PermitActor PermitWait Placement PlacementScorePlugin
Plugin PluginRegistration PluginSpec Pod PostBindActor PostFilterActor PostFilterPlugin
PostFilterResult PreBindActor PreEnqueuePlugin PreFilterExtensions PreFilterPlugin PreFilterResult
PreScorePlugin Proposal QuantityError QueueingHintFn Reason ReservePlugin ReserveResult Rows
ScalarPlugin ScoreExtensions ScorePlugin Scores SharedSignPlugin SignPlugin SkippingReservePlugin
Snapshot Status Struct Versioned Violation Why default_normalize_score error_status key milli_value
pod_ref rejected value
"""
