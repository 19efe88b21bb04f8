"""Specs that the CRD's rules refuse: what the API server says at once, and the operator too."""

from __future__ import annotations

from typing import Any

_WEIGHED = (
    "weights",
    "a plugin that is not enabled at score has a weight: enable it there, or leave its weight out",
)
_SAFE = {"urlPrefix": "https://e.example", "tlsConfig": {"insecure": True}}
_WEIGHT = {"weights": {"NodeAffinity": 2}}


def _points(**points: dict[str, list[str]]) -> dict[str, Any]:
    """A spec with these plugins, by point and then ``enabled`` or ``disabled``."""
    return {
        "plugins": {
            point: {which: [{"name": name} for name in names] for which, names in sets.items()}
            for point, sets in points.items()
        }
    }


def _extenders(*extenders: dict[str, Any]) -> dict[str, Any]:
    return {"extenders": [{**_SAFE, **one} for one in extenders]}


def _pods(requirement: dict[str, Any]) -> dict[str, Any]:
    selector = {"matchExpressions": [requirement]}
    return {"assign": {"namespaceSelector": {}, "podSelector": selector}}


_VALUES = "values are for In and NotIn, and these need some"

REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "enabled-twice": (
        _points(filter={"enabled": ["NodeName", "NodePorts", "NodeName"]}),
        "plugins.filter.enabled",
        "a plugin is enabled twice here: name each of them once",
    ),
    "sorting-twice": (
        _points(queueSort={"enabled": ["PrioritySort", "PrioritySort"]}),
        "plugins.queueSort.enabled",
        "a plugin is enabled twice here: name each of them once",
    ),
    "nobody-binds": (
        _points(bind={"disabled": ["*"]}),
        "plugins.bind",
        "at least one bind plugin has to be enabled",
    ),
    "weight-of-what-is-disabled": (
        {**_points(score={"disabled": ["NodeAffinity"]}), **_WEIGHT},
        *_WEIGHED,
    ),
    "weight-where-all-is-disabled": (
        {**_points(score={"disabled": ["*"], "enabled": ["NodeResourcesFit"]}), **_WEIGHT},
        *_WEIGHED,
    ),
    "weight-of-what-is-nowhere": (
        {**_points(multiPoint={"disabled": ["*"], "enabled": ["NodeName"]}), **_WEIGHT},
        *_WEIGHED,
    ),
    "weight-without-scoring": ({"preset": "NoScoring", **_WEIGHT}, *_WEIGHED),
    "canary-of-no-canary": (
        {"rollout": {"canary": {"percent": 5}}},
        "rollout.canary",
        "canary is for strategy Canary: set that, or leave canary out",
    ),
    "shadow-of-a-canary": (
        {"rollout": {"strategy": "Canary", "shadow": {"pods": 5}}},
        "rollout.shadow",
        "shadow is for strategy Shadow: set that, or leave shadow out",
    ),
    "extender-without-weight": (
        _extenders({"prioritizeVerb": "score"}),
        "extenders[0].weight",
        "an extender with a prioritizeVerb needs a weight of 1 or more",
    ),
    "extender-by-http": (
        _extenders({"urlPrefix": "http://e.example", "tlsConfig": {"secretRef": {"name": "s"}}}),
        "extenders[0].urlPrefix",
        "nobody knows who answers HTTP: use https, or set tlsConfig.insecure",
    ),
    "extender-that-nobody-knows": (
        _extenders({"tlsConfig": {"serverName": "e.example"}}),
        "extenders[0]",
        (
            "a Secret in the operator's namespace with the CA as ca.crt has to be named in "
            "tlsConfig.secretRef, or tlsConfig.insecure to be set"
        ),
    ),
    "extender-that-contradicts-itself": (
        _extenders({"urlPrefix": "http://e.example", "enableHTTPS": True}),
        "extenders[0].enableHTTPS",
        "urlPrefix has to begin with https:// where enableHTTPS is set",
    ),
    "two-binders": (
        _extenders({"bindVerb": "bind"}, {"bindVerb": "bind"}),
        "extenders",
        "only one extender can have a bindVerb",
    ),
    "backoffs": (
        {"podInitialBackoffSeconds": 11, "podMaxBackoffSeconds": 10},
        "podMaxBackoffSeconds",
        "must be greater than or equal to podInitialBackoffSeconds",
    ),
    "arguments-and-reference": (
        {"pluginConfig": [{"name": "NodeName", "args": {}, "configRef": {"name": "shared"}}]},
        "pluginConfig[0]",
        "exactly one of args and configRef has to be set",
    ),
    "assign-in-nothing": (
        _pods({"key": "a", "operator": "In"}),
        "assign.podSelector.matchExpressions[0].values",
        _VALUES,
    ),
    "assign-where-there-is-a-value": (
        _pods({"key": "a", "operator": "Exists", "values": ["b"]}),
        "assign.podSelector.matchExpressions[0].values",
        _VALUES,
    ),
}
"""By name: a spec, the path below ``spec`` that is blamed, and the sentence."""
