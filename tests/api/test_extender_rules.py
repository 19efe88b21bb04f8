"""Extenders of a profile: what is refused and in which words, where they may be, and what of them
decides.
"""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.operator_config import OperatorConfiguration
from moorage.api.operator_options import ExtenderPolicy
from moorage.api.resolution import Resolver
from moorage.api.resolved_profile import Resolution
from moorage.core.framework.extenders import EXTENDER, Extender
from moorage.core.framework.revisions import Revision
from moorage.core.plugins.intree import PRESETS
from moorage.core.plugins.node_resources.fit import NodeResourcesFit
from tests.api.profiles import RESOLVER, a_profile

OURS = "https://extenders.test:8443/v1"
NO_CA = (
    "a Secret in the operator's namespace with the CA as ca.crt has to be named, or "
    "tlsConfig.insecure to be set"
)
SECRET = {"secretRef": {"name": "ca"}}


def resolution(
    *extenders: dict[str, Any], hosts: tuple[str, ...] = ("*",), **spec: Any
) -> Resolution:
    """Of a profile with these extenders, where these hosts are allowed; those that say nothing are
    at a URL that is fine.
    """
    given = [{"urlPrefix": OURS, "tlsConfig": SECRET, **extender} for extender in extenders]
    config = OperatorConfiguration(extenders=ExtenderPolicy.model_validate({"allowedHosts": hosts}))
    return Resolver(RESOLVER.registry, PRESETS, config)(a_profile({"extenders": given, **spec}), {})


def faults(*extenders: dict[str, Any], hosts: tuple[str, ...] = ("*",)) -> list[str]:
    """What is wrong with them."""
    return [
        str(error).removeprefix("spec.") for error in resolution(*extenders, hosts=hosts).errors
    ]


def managing(*names: str) -> dict[str, Any]:
    """An extender that looks after these resources, which are to be ignored."""
    return {"managedResources": [{"name": name, "ignoredByScheduler": True} for name in names]}


@pytest.mark.parametrize(
    ("extenders", "want"),
    [
        pytest.param(
            [{"prioritizeVerb": "p"}],
            ["extenders[0].weight: 0: must have a positive weight applied to it"],
            id="no weight",
        ),
        pytest.param(
            [{"prioritizeVerb": "p", "weight": 1}, {"filterVerb": "f"}],
            [],
            id="weight where it matters",
        ),
        pytest.param(
            [{"bindVerb": "b"}] * 2,
            [
                (
                    "extenders: 'found 2 extenders implementing bind': only one extender can "
                    "implement bind"
                )
            ],
            id="binders",
        ),
        pytest.param(
            [managing("cpu")],
            ["extenders[0].managedResources[0].name: 'cpu': is an invalid extended resource name"],
            id="native resource",
        ),
        pytest.param(
            [managing("a.b/c"), managing("d.e/f", "a.b/c")],
            [
                (
                    "extenders[1].managedResources[1].name: 'a.b/c': duplicate extender managed "
                    "resource name"
                )
            ],
            id="managed twice",
        ),
        pytest.param(
            [{"urlPrefix": "x"}],
            [
                (
                    "extenders[0].urlPrefix: 'x': must be a URL that begins with http:// or "
                    "https:// and a host"
                )
            ],
            id="no URL",
        ),
        pytest.param(
            [{"urlPrefix": "https://a:x/"}],
            [
                (
                    "extenders[0].urlPrefix: 'https://a:x/': must be a URL that begins with "
                    "http:// or https:// and a host"
                )
            ],
            id="no port",
        ),
        pytest.param(
            [{"urlPrefix": "file:///etc/passwd"}],
            [
                (
                    "extenders[0].urlPrefix: 'file:///etc/passwd': must be a URL that begins "
                    "with http:// or https:// and a host"
                )
            ],
            id="file",
        ),
        pytest.param(
            [{"urlPrefix": "https://u:p@x.test"}],
            [
                (
                    "extenders[0].urlPrefix: 'https://u:p@x.test': must not have a user, a query "
                    "or a fragment"
                )
            ],
            id="credentials",
        ),
        pytest.param(
            [{"urlPrefix": "http://x.test"}],
            [
                (
                    "extenders[0].urlPrefix: 'http://x.test': nobody knows who answers HTTP: use "
                    "https, or set tlsConfig.insecure"
                )
            ],
            id="plain",
        ),
        pytest.param(
            [{"urlPrefix": "http://x.test", "tlsConfig": {"insecure": True}}],
            [],
            id="plain on purpose",
        ),
        pytest.param(
            [{"tlsConfig": None}],
            [f"extenders[0].tlsConfig.secretRef: None: {NO_CA}"],
            id="no CA",
        ),
        pytest.param([{"tlsConfig": {"insecure": True}}], [], id="no CA on purpose"),
        pytest.param(
            [{"urlPrefix": "http://x.test", "tlsConfig": {"insecure": True}, "enableHTTPS": True}],
            ["extenders[0].enableHTTPS: True: urlPrefix has to begin with https:// then"],
            id="HTTPS over HTTP",
        ),
        pytest.param(
            [{"tlsConfig": {"caFile": "/ca"}}],
            ["extenders[0].tlsConfig.caFile: '/ca': unknown field"],
            id="files are not read",
        ),
    ],
)
def test_what_is_refused(extenders: list[dict[str, Any]], want: list[str]) -> None:
    """Each fault with path, value and what to do; kube-scheduler's in its words."""
    assert faults(*extenders) == want


@pytest.mark.parametrize(
    ("hosts", "allowed"),
    [
        ((), False),
        (("extenders.test",), True),
        (("EXTENDERS.test",), True),
        (("other.test", "extenders.test"), True),
        (("*.test",), True),
        (("*.extenders.test",), False),
        (("tenders.test",), False),
        (("*",), True),
    ],
)
def test_hosts(hosts: tuple[str, ...], allowed: bool) -> None:
    """Only those that the operator's configuration names; the port does not matter. The fault says
    what to set there.
    """
    text = (
        "the host is not allowed: set extenders: {allowedHosts: [extenders.test]} in the "
        "OperatorConfiguration"
    )
    assert faults({}, hosts=hosts) == (
        [] if allowed else [f"extenders[0].urlPrefix: '{OURS}': {text}"]
    )


def test_what_core_is_told() -> None:
    """Every field; those whose failure does not matter come last, in their order."""
    given = {
        "filterVerb": "f",
        "prioritizeVerb": "p",
        "preemptVerb": "v",
        "bindVerb": "b",
        "weight": 3,
        "httpTimeout": "1500ms",
        "nodeCacheCapable": True,
        "tlsConfig": {"serverName": "s", **SECRET},
        "enableHTTPS": True,
        **managing("a.b/c"),
    }
    extenders = resolution(
        {"ignorable": True}, given, {"ignorable": True, "filterVerb": "g"}, {"filterVerb": "h"}
    ).revision.extenders
    assert extenders[0] == Extender(
        OURS, "f", "p", "v", "b", 3, True, frozenset({"a.b/c"}), False, 1.5, False, "s", "ca"
    )
    assert [(extender.filter_verb, extender.ignorable) for extender in extenders[1:]] == [
        ("h", False),
        ("", True),
        ("g", True),
    ]
    assert extenders[1].timeout == 5.0


def _ignored(revision: Revision) -> tuple[str, ...] | None:
    plugin = revision.deciders["NodeResourcesFit"]
    assert isinstance(plugin, NodeResourcesFit)
    return plugin.args.ignored_resources


def test_ignored_resources_replace_those_of_the_plugin() -> None:
    """As with kube-scheduler; without any, the plugin's own stay."""
    config = [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["a.b/own"]}}]
    assert _ignored(
        resolution(managing("a.b/c"), managing("a.b/d"), pluginConfig=config).revision
    ) == ("a.b/c", "a.b/d")
    assert _ignored(resolution(managing("a.b/c")).revision) == ("a.b/c",)
    assert _ignored(
        resolution({"managedResources": [{"name": "a.b/c"}]}, pluginConfig=config).revision
    ) == ("a.b/own",)


def test_what_extenders_refused_waits_for_anything() -> None:
    """Only profiles that have some register for it, and pods of theirs are moved when they
    change.
    """
    without, one, other = (
        resolution(),
        resolution({"filterVerb": "f"}),
        resolution({"filterVerb": "g"}),
    )
    assert EXTENDER not in without.queue_config.hints
    assert EXTENDER in one.queue_config.hints
    assert EXTENDER in other.revision.changed_since(one.revision) & one.revision.changed_since(
        without.revision
    )
    assert EXTENDER not in one.revision.changed_since(resolution({"filterVerb": "f"}).revision)
