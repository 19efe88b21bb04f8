"""The custom resources on a real API server: what it takes, what it refuses and how it says so,
what `kubectl get` prints.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from moorage.api.v1alpha1.scheduler_profile import MAX_PLUGINS, Plugins
from tests.api import refused_specs
from tests.generate import ROOT
from tests.rig import ControlPlane, RigError

PROFILE, CONFIG = "SchedulerProfile", "PluginConfig"


@pytest.fixture(scope="module")
def crds(rig: ControlPlane) -> ControlPlane:
    """The shared control plane, with crds/ applied the way that users do."""
    rig.kubectl("apply", "-f", str(ROOT / "crds"))
    rig.establish("schedulerprofiles.moorage.dev", "pluginconfigs.moorage.dev")
    return rig


def manifest(kind: str, name: str, spec: Any) -> str:
    """An object as text."""
    return json.dumps(
        {
            "apiVersion": "moorage.dev/v1alpha1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": spec,
        }
    )


def refusal(rig: ControlPlane, text: str, *options: str) -> str:
    """What the API server says to an object that it does not take."""
    with pytest.raises(RigError) as caught:
        rig.kubectl("apply", "-f", "-", *options, input=text)
    return str(caught.value)


TAKEN: dict[str, tuple[str, Any]] = {
    "empty": (PROFILE, {}),
    "sixty-three": (PROFILE, {"schedulerName": "a" * 63}),
    "prefixed": (PROFILE, {"schedulerName": "example.com/batch"}),
    "every-field": (
        PROFILE,
        {
            "controllerName": "other",
            "schedulerName": "every-field",
            "preset": "BinPack",
            "plugins": {
                "multiPoint": {"enabled": [{"name": "NodeName"}], "disabled": [{"name": "*"}]},
                "score": {
                    "enabled": [
                        {"name": "NodeAffinity", "weight": 3},
                        {"name": "NodeResourcesFit"},
                        {"name": "ImageLocality", "weight": 1},
                    ]
                },
                "queueSort": {"enabled": [{"name": "PrioritySort"}]},
            },
            "weights": {"NodeResourcesFit": 5, "NodeAffinity": 0},
            "pluginConfig": [
                {"name": "NodeResourcesFit", "args": {"anything": {"goes": [1, None, "x"]}}},
                {"name": "NodeAffinity", "configRef": {"name": "shared"}},
            ],
            "percentageOfNodesToScore": 0,
            "extenders": [
                {
                    "urlPrefix": "https://e.example",
                    "enableHTTPS": True,
                    "httpTimeout": "1m30s",
                    "tlsConfig": {"secretRef": {"name": "s"}},
                }
            ],
            "podInitialBackoffSeconds": 10,
            "podMaxBackoffSeconds": 10,
            "suspend": True,
            "assign": {
                "namespaceSelector": {"matchLabels": {"example.com/team": ""}},
                "podSelector": {
                    "matchExpressions": [
                        {"key": "a", "operator": "NotIn", "values": ["b", "c"]},
                        {"key": "d", "operator": "Exists"},
                    ]
                },
            },
        },
    ),
    "config": (
        CONFIG,
        {"plugin": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "whatever"}}},
    ),
    "no-args": (CONFIG, {"plugin": "NodeName"}),
}

REFUSED: dict[str, tuple[str, Any, str]] = {
    "no-spec": (PROFILE, None, "spec: Required value"),
    "preset": (
        PROFILE,
        {"preset": "Binpack"},
        'spec.preset: Unsupported value: "Binpack": supported values: "Default", "BinPack", ',
    ),
    "weight-too-low": (PROFILE, {"weights": {"A": -1}}, "spec.weights.A: Invalid value: -1"),
    "weight-too-high": (
        PROFILE,
        {"plugins": {"score": {"enabled": [{"name": "A", "weight": 2**31}]}}},
        "spec.plugins.score.enabled[0].weight: Invalid value",
    ),
    "percentage": (
        PROFILE,
        {"percentageOfNodesToScore": 101},
        "should be less than or equal to 100",
    ),
    "wrong-type": (PROFILE, {"suspend": "yes"}, 'spec.suspend: Invalid value: "string"'),
    "long-scheduler-name": (
        PROFILE,
        {"schedulerName": "a" * 64},
        "spec.schedulerName: Too long: may not be more than 63",
    ),
    "scheduler-name": (
        PROFILE,
        {"schedulerName": "no spaces"},
        "spec.schedulerName in body should match",
    ),
    "zero-backoff": (
        PROFILE,
        {"podInitialBackoffSeconds": 0},
        "should be greater than or equal to 1",
    ),
    "neither": (
        PROFILE,
        {"pluginConfig": [{"name": "A"}]},
        "exactly one of args and configRef has to be set",
    ),
    "args-twice": (
        PROFILE,
        {"pluginConfig": [{"name": "A", "args": {}}, {"name": "A", "args": {}}]},
        "spec.pluginConfig[1]: Duplicate value",
    ),
    "too-many": (
        PROFILE,
        {"pluginConfig": [{"name": f"P{i}", "args": {}} for i in range(65)]},
        "spec.pluginConfig: Too many: 65",
    ),
    "unknown-field": (
        PROFILE,
        {"schedulrName": "x"},
        'strict decoding error: unknown field "spec.schedulrName"',
    ),
    "unknown-point": (PROFILE, {"plugins": {"filtr": {}}}, 'unknown field "spec.plugins.filtr"'),
    "key-file": (
        PROFILE,
        {"extenders": [{"urlPrefix": "x", "tlsConfig": {"keyFile": "k"}}]},
        'unknown field "spec.extenders[0].tlsConfig.keyFile"',
    ),
    "timeout": (
        PROFILE,
        {"extenders": [{"urlPrefix": "x", "httpTimeout": "5"}]},
        "spec.extenders[0].httpTimeout in body should match",
    ),
    "half-an-assign": (
        PROFILE,
        {"assign": {"podSelector": {}}},
        "spec.assign.namespaceSelector: Required value",
    ),
    "rollout": (
        PROFILE,
        {"rollout": {"strategy": "Sometimes"}},
        'spec.rollout.strategy: Unsupported value: "Sometimes"',
    ),
    "no-plugin": (CONFIG, {"args": {}}, "spec.plugin: Required value"),
    "args-no-object": (CONFIG, {"plugin": "A", "args": []}, "spec.args: Invalid value"),
}

BECOMES: dict[str, tuple[str, Any, Any, str]] = {
    "controllerName": (
        PROFILE,
        {},
        {"controllerName": "x"},
        "spec.controllerName: Invalid value: controllerName is immutable",
    ),
    "schedulerName": (
        PROFILE,
        {"schedulerName": "one"},
        {"schedulerName": "two"},
        "spec.schedulerName: Invalid value: schedulerName is immutable",
    ),
    "schedulerName-added": (PROFILE, {}, {"schedulerName": "two"}, "schedulerName is immutable"),
    "schedulerName-removed": (PROFILE, {"schedulerName": "one"}, {}, "schedulerName is immutable"),
    "plugin": (
        CONFIG,
        {"plugin": "A"},
        {"plugin": "B"},
        "spec.plugin: Invalid value: plugin is immutable",
    ),
}


@pytest.mark.parametrize("case", TAKEN)
def test_good_objects_are_taken(crds: ControlPlane, case: str) -> None:
    """And stay as they are: nothing is pruned."""
    kind, spec = TAKEN[case]
    name = f"taken-{case}"
    crds.kubectl("apply", "-f", "-", input=manifest(kind, name, spec))
    stored = json.loads(crds.kubectl("get", kind, name, "-o", "json"))["spec"]
    if kind == PROFILE:
        spec = {
            "controllerName": "moorage",
            "preset": "Default",
            "suspend": False,
            **spec,
        }
    if "extenders" in spec:
        (extender,) = stored.pop("extenders")
        (wanted,) = spec.pop("extenders")
        assert (
            extender.items()
            >= {key: value for key, value in wanted.items() if key != "tlsConfig"}.items()
        )
    assert stored == spec
    crds.kubectl("delete", kind, name, "--wait=false")


@pytest.mark.parametrize("case", REFUSED)
def test_bad_objects_are_refused(crds: ControlPlane, case: str) -> None:
    """With the field's path."""
    kind, spec, text = REFUSED[case]
    assert text in refusal(crds, manifest(kind, f"refused-{case}", spec))


@pytest.mark.parametrize("case", refused_specs.REFUSED)
def test_what_contradicts_itself_is_refused_at_once(crds: ControlPlane, case: str) -> None:
    """By the definition's rules, before the operator has seen it."""
    spec, path, sentence = refused_specs.REFUSED[case]
    said = refusal(crds, manifest(PROFILE, f"refused-{case}", spec))
    assert f"spec.{path}: Invalid value: " in said
    assert sentence in said


def test_the_rules_have_time_for_the_largest_profile(crds: ControlPlane) -> None:
    """As many plugins at each point as the definition takes, and a weight for each."""
    plugins = {"enabled": [{"name": f"{'P' * 60}{i}"} for i in range(MAX_PLUGINS)]}
    points = {field.alias or name: plugins for name, field in Plugins.model_fields.items()}
    weights = {f"{'P' * 60}{i}": 1 for i in range(MAX_PLUGINS)}
    off = [{"name": f"Q{i}"} for i in range(MAX_PLUGINS)]
    for point in ("score", "multiPoint"):
        points[point] = {**plugins, "disabled": off}
    spec = {"plugins": points, "weights": weights}
    crds.kubectl("create", "-f", "-", input=manifest(PROFILE, "largest", spec))
    crds.kubectl("delete", PROFILE, "largest", "--wait=false")


def without_values(said: str) -> str:
    """A rule's words as they are since Kubernetes 1.35; before, a type stood for the value."""
    return said.replace('Invalid value: "object": ', "Invalid value: ")


@pytest.mark.parametrize("case", BECOMES)
def test_identity_is_immutable(crds: ControlPlane, case: str) -> None:
    """Changed, added or removed; all else may change."""
    kind, before, after, text = BECOMES[case]
    name = f"becomes-{case.lower()}"
    crds.kubectl("create", "-f", "-", input=manifest(kind, name, before))
    patch = json.dumps([{"op": "replace", "path": "/spec", "value": after}])
    with pytest.raises(RigError) as caught:
        crds.kubectl("patch", kind, name, "--type=json", "-p", patch)
    assert text in without_values(str(caught.value))
    crds.kubectl("patch", kind, name, "--type=merge", "-p", '{"metadata":{"labels":{"a":"b"}}}')
    crds.kubectl("delete", kind, name, "--wait=false")


def test_a_long_name_needs_a_scheduler_name(crds: ControlPlane) -> None:
    """Objects may have 253 characters, schedulerNames 63."""
    name = "team-" + "a" * 70 + ".batch"
    text = without_values(refusal(crds, manifest(PROFILE, name, {})))
    assert (
        "spec.schedulerName: Invalid value: a profile whose name has more than 63 characters "
        "needs a schedulerName"
    ) in text
    crds.kubectl("create", "-f", "-", input=manifest(PROFILE, name, {"schedulerName": "short"}))
    crds.kubectl("delete", PROFILE, name, "--wait=false")


def test_the_printed_columns(crds: ControlPlane) -> None:
    """`kubectl get sprof` and `pcfg`, filled from status; status is a subresource that spec writers
    can't touch.
    """
    crds.kubectl("create", "-f", "-", input=manifest(PROFILE, "columns", {"preset": "Spread"}))
    crds.kubectl("create", "-f", "-", input=manifest(CONFIG, "columns", {"plugin": "NodeName"}))
    write_status(crds, PROFILE, PROFILE_STATUS)
    write_status(
        crds,
        CONFIG,
        {
            "conditions": [
                condition("Accepted", "True", "Valid"),
                condition("Active", "False", "Paused"),
            ],
            "profileCount": 1,
            "hash": "x",
            "profiles": ["a"],
        },
    )
    head, row = (line.split() for line in crds.kubectl("get", "sprof", "columns").splitlines())
    assert head == [
        "NAME",
        "SCHEDULER",
        "READY",
        "REASON",
        "REVISION",
        "ACTIVE",
        "BACKOFF",
        "UNSCHED",
        "GATED",
        "LEADER",
        "AGE",
    ]
    assert row[:10] == [
        "columns",
        "columns",
        "Unknown",
        "LastGood",
        "9d02aa71",
        "1",
        "2",
        "3",
        "4",
        "moorage-0_1c2d",
    ]
    head, row = (
        line.split() for line in crds.kubectl("get", "sprof", "columns", "-o", "wide").splitlines()
    )
    assert head[11:] == ["PRESET", "DESIRED", "MESSAGE"]
    assert row[11:] == ["Spread", "3f9c1b2a", "because", "of", "this"]
    head, row = (line.split() for line in crds.kubectl("get", "pcfg", "columns").splitlines())
    assert head == ["NAME", "PLUGIN", "ACCEPTED", "ACTIVE", "REASON", "PROFILES", "AGE"]
    assert row[:6] == ["columns", "NodeName", "True", "False", "Paused", "1"]
    stored = json.loads(crds.kubectl("get", "sprof", "columns", "-o", "json"))
    assert stored["status"] == {
        **PROFILE_STATUS,
        "pluginConfigs": [{"name": "x", "activeGeneration": 3}],
    }
    assert stored["metadata"]["generation"] == 1


def condition(kind: str, status: str, reason: str) -> dict[str, Any]:
    """A condition of status."""
    time = "2026-01-01T00:00:00Z"
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": "because of this",
        "observedGeneration": 1,
        "lastTransitionTime": time,
    }


PROFILE_STATUS: dict[str, Any] = {
    "observedGeneration": 1,
    "schedulerName": "columns",
    "desiredRevision": "3f9c1b2a",
    "activeRevision": "9d02aa71",
    "activeSince": "2026-01-01T00:00:00Z",
    # A null in a list's item is dropped by the API server.
    "pluginConfigs": [{"name": "x", "observedGeneration": None, "activeGeneration": 3}],
    "pluginConfigCount": 1,
    "drainingCycles": 0,
    "conditions": [
        condition("Accepted", "True", "Valid"),
        condition("Ready", "Unknown", "LastGood"),
    ],
    "leader": {
        "identity": "moorage-0_1c2d",
        "since": "2026-01-01T00:00:00.123456Z",
        "transitions": 3,
        "renewTime": "2026-01-01T00:00:01.123456Z",
    },
    "queue": {
        "active": 1,
        "backoff": 2,
        "unschedulable": 3,
        "gated": 4,
        "inFlight": 5,
        "oldestPendingSince": "2026-01-01T00:00:00Z",
    },
    "effective": {"filter": ["NodeName"], "score": [{"name": "ImageLocality", "weight": 1}]},
    "replicas": [{"identity": "moorage-0_1c2d", "role": "Leader", "revision": "9d02aa71"}],
    "claimedBy": "moorage-system/moorage",
}


def write_status(rig: ControlPlane, kind: str, status: dict[str, Any]) -> None:
    """As the operator does it."""
    rig.kubectl(
        "patch",
        kind,
        "columns",
        "--subresource=status",
        "--type=merge",
        "-p",
        json.dumps({"status": status}),
    )


def test_fields_can_be_selected(crds: ControlPlane) -> None:
    """`--field-selector`, and `kubectl get moorage` for both kinds."""
    crds.kubectl(
        "create", "-f", "-", input=manifest(PROFILE, "selected", {"schedulerName": "select-me"})
    )
    crds.kubectl("create", "-f", "-", input=manifest(CONFIG, "selected", {"plugin": "SelectMe"}))
    assert (
        crds.kubectl("get", "sprof", "--field-selector=spec.schedulerName=select-me", "-o", "name")
        == "schedulerprofile.moorage.dev/selected\n"
    )
    assert (
        crds.kubectl("get", "sprof", "--field-selector=spec.controllerName=nobody", "-o", "name")
        == ""
    )
    assert (
        crds.kubectl("get", "pcfg", "--field-selector=spec.plugin=SelectMe", "-o", "name")
        == "pluginconfig.moorage.dev/selected\n"
    )
    both = crds.kubectl("get", "moorage", "-o", "name")
    assert (
        "schedulerprofile.moorage.dev/selected" in both
        and "pluginconfig.moorage.dev/selected" in both
    )


def test_fields_are_explained(crds: ControlPlane) -> None:
    """`kubectl explain` has the models' docstrings."""
    assert "What pods put in spec.schedulerName" in crds.kubectl(
        "explain", "sprof.spec.schedulerName"
    )
