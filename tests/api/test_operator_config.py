"""OperatorConfiguration: defaults, sources in their order, and all faults at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api import yaml_documents
from moorage.api.operator_config import (
    ConfigErrors,
    OperatorConfiguration,
    dump_config,
    load_config,
)
from tests.api.test_yaml_documents import PLAIN

HOST = r"^(\*|(\*\.)?[A-Za-z0-9._:-]+)$"
PACKAGE = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$"
BELOW_INITIAL = "must be greater than or equal to podInitialBackoffSeconds, which is"
HEAD = "apiVersion: config.moorage.dev/v1alpha1\nkind: OperatorConfiguration\n"


def faults(
    text: str | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
) -> list[str]:
    """What is wrong, as printed."""
    with pytest.raises(ConfigErrors) as caught:
        load_config(text, environ or {}, flags or {})
    return [str(error) for error in caught.value.errors]


def test_defaults_are_as_promised() -> None:
    """Every field with its default: users rely on them, so a change is one of the contract."""
    assert yaml_documents.load_all(dump_config(load_config(None, {}, {}))) == [
        {
            "apiVersion": "config.moorage.dev/v1alpha1",
            "kind": "OperatorConfiguration",
            "controllerName": "moorage",
            "mode": "decider",
            "leaderElection": {
                "leaderElect": True,
                "leaseDuration": "15s",
                "renewDeadline": "10s",
                "retryPeriod": "2s",
                "replaceDefaultScheduler": False,
                "resourceName": "moorage",
                "resourceNamespace": "moorage-system",
            },
            "clientConnection": {"kubeconfig": "", "master": ""},
            "serving": {
                "bindAddress": "0.0.0.0",
                "securePort": 10259,
                "certFile": "",
                "keyFile": "",
            },
            "admission": {"enabled": False, "port": 10260},
            "queueSort": "PrioritySort",
            "percentageOfNodesToScore": 100,
            "podInitialBackoffSeconds": 1,
            "podMaxBackoffSeconds": 10,
            "podMaxInUnschedulablePodsDuration": "5m0s",
            "bindConcurrency": 64,
            "swapDebounce": "200ms",
            "plugins": {"packages": []},
            "extenders": {"allowedHosts": []},
            "foreignSchedulers": [],
            "enableProfiling": False,
            "delayCacheUntilActive": False,
            "logging": {"format": "text", "verbosity": 0},
            "recording": {"directory": "", "maxBytes": 1073741824, "maxAge": "24h0m0s"},
        }
    ]


def test_flags_go_before_environment_before_file_before_defaults() -> None:
    """Field by field, with every kind of value."""
    text = (
        f"{HEAD}bindConcurrency: 1\nleaderElection: {{leaseDuration: 20s, renewDeadline: 11s, "
        f"retryPeriod: 1s, leaderElect: true}}"
    )
    environ = {
        "MOORAGE_CFG_LEADER_ELECTION__LEADER_ELECT": "False",
        "MOORAGE_CFG_LEADER_ELECTION__LEASE_DURATION": "30s",
        "MOORAGE_CFG_LEADER_ELECTION__RENEW_DEADLINE": "12s",
        "MOORAGE_CFG_PERCENTAGE_OF_NODES_TO_SCORE": "50",
        "MOORAGE_CFG_EXTENDERS__ALLOWED_HOSTS": "",
        "MOORAGE_SERVICE_HOST": "10.0.0.1",
        "MOORAGE_PORT": "tcp://10.0.0.1:10259",
    }
    config = load_config(
        text, environ, {"leaderElection.leaseDuration": "1m", "clientConnection.kubeconfig": "~/k"}
    )
    election = config.leader_election
    assert (
        election.leader_elect,
        election.lease_duration,
        election.renew_deadline,
        election.retry_period,
    ) == (False, 60, 12, 1)
    assert (
        config.bind_concurrency,
        config.percentage_of_nodes_to_score,
        config.client_connection.kubeconfig,
    ) == (1, 50, "~/k")
    assert config.extenders.allowed_hosts == ()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ["there has to be one document, an OperatorConfiguration (from file)"]),
        ("- a", ["there has to be one document, an OperatorConfiguration (from file)"]),
        (f"{HEAD}---\n{HEAD}", ["there has to be one document, an OperatorConfiguration (from file)"]),
        ("a: [", [(
            "not readable as YAML: line 1, column 5: expected the node content, but found "
            "'<stream end>' (from file)"
        )]),
        ("bindConcurrency: 2", ["apiVersion: None: Required value (from file)", "kind: None: Required value (from file)"]),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: OperatorConfiguration",
            [(
                "apiVersion: 'kubescheduler.config.k8s.io/v1': supported values: "
                "\"config.moorage.dev/v1alpha1\" (from file)"
            )],
        ),
        (f"{HEAD}bindConcurency: 2", ["bindConcurency: 2: unknown field; did you mean \"bindConcurrency\"? (from file)"]),
        (f"{HEAD}serving: {{bindAdress: x}}", ["serving.bindAdress: 'x': unknown field; did you mean \"bindAddress\"? (from file)"]),
        (f"{HEAD}serving: 3", ["serving: 3: must be an object (from file)"]),
        (f"{HEAD}bindConcurrency: 0", ["bindConcurrency: 0: not in valid range [1, 4096] (from file)"]),
        (f"{HEAD}bindConcurrency: '5'", ["bindConcurrency: '5': must be an integer (from file)"]),
        (f"{HEAD}swapDebounce: 5", ['swapDebounce: 5: must be a duration such as "15s", "1m30s" or "200ms" (from file)']),
        (f"{HEAD}logging: {{format: xml}}", ["logging.format: 'xml': supported values: \"text\", \"json\" (from file)"]),
        (f"{HEAD}clientConnection: {{qps: 50}}", ["clientConnection.qps: 50: is not supported yet (from file)"]),
        (f"{HEAD}clientConnection: {{burst: 100}}", ["clientConnection.burst: 100: is not supported yet (from file)"]),
        (f"{HEAD}serving: {{certFile: c}}", ["serving.keyFile: '': certFile and keyFile belong together: set both or none"]),
        (f"{HEAD}serving: {{keyFile: k}}", [(
            "serving.keyFile: 'k': certFile and keyFile belong together: set both or none (from "
            "file)"
        )]),
        (f"{HEAD}plugins: {{packages: [a, b-c]}}", [f"plugins.packages[1]: 'b-c': should match '{PACKAGE}' (from file)"]),
        (f"{HEAD}plugins: {{packages: [a, b, a]}}", ["plugins.packages: '[…]': a is named twice (from file)"]),
        (f"{HEAD}extenders: {{allowedHosts: [a, a/b]}}", [f"extenders.allowedHosts[1]: 'a/b': should match '{HOST}' (from file)"]),
        (f"{HEAD}mode: watcher", ["mode: 'watcher': supported values: \"decider\", \"observer\" (from file)"]),
        (f"{HEAD}mode: observer\nadmission: {{enabled: true}}", [(
            "admission.enabled: True: must be false where mode is observer, which writes no "
            "certificate and refuses nobody's profiles"
        )]),
        (f"{HEAD}enableProfiling: true", ["enableProfiling: True: is not supported yet (from file)"]),
        (f"{HEAD}delayCacheUntilActive: true", ["delayCacheUntilActive: True: is not supported yet (from file)"]),
        (f"{HEAD}queueSort: Coscheduling", ["queueSort: 'Coscheduling': is not supported yet (from file)"]),
        (f"{HEAD}podMaxBackoffSeconds: 1\npodInitialBackoffSeconds: 2", [f"podMaxBackoffSeconds: 1: {BELOW_INITIAL} 2 (from file)"]),
        (f"{HEAD}podInitialBackoffSeconds: 20", [f"podMaxBackoffSeconds: 10: {BELOW_INITIAL} 20"]),
    ],
)  # fmt: skip
def test_bad_files_are_refused(text: str, wanted: list[str]) -> None:
    """Each fault with path, value, text and where it came from; a default that no longer fits has
    no source.
    """
    assert faults(text) == wanted


@pytest.mark.parametrize(
    ("election", "wanted"),
    [
        (
            {"leaseDuration": "10s"},
            ["leaderElection.renewDeadline: '10s': must be less than leaseDuration, which is 10s"],
        ),
        (
            {"renewDeadline": "2.4s"},
            [
                (
                    "leaderElection.retryPeriod: '2s': 1.2 times of it must be less than "
                    "renewDeadline, which is 2.4s"
                )
            ],
        ),
        (
            {"retryPeriod": "0s"},
            ["leaderElection.retryPeriod: '0s': must be greater than zero (from file)"],
        ),
        (
            {"resourceNamespace": "kube-system", "resourceName": "kube-scheduler"},
            [
                (
                    "leaderElection.resourceNamespace: 'kube-system': kube-system/kube-scheduler "
                    "is kube-scheduler's Lease: set replaceDefault"
                )
            ],
        ),
        ({"resourceName": "A b"}, ["leaderElection.resourceName: 'A b': should match '"]),
    ],
    ids=["lease-too-short", "deadline-too-short", "zero", "reserved", "name"],
)
def test_leader_election_is_checked(election: dict[str, Any], wanted: list[str]) -> None:
    """The order leaseDuration > renewDeadline > 1.2 * retryPeriod, and whose Lease it is."""
    found = faults(HEAD + yaml_documents.dump({"leaderElection": election}))
    assert len(found) == len(wanted) and all(
        line.startswith(start) for line, start in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize(
    "election",
    [
        {"leaderElect": False, "leaseDuration": "0s", "renewDeadline": "20s"},
        {
            "resourceNamespace": "kube-system",
            "resourceName": "kube-scheduler",
            "replaceDefaultScheduler": True,
        },
        {"resourceNamespace": "kube-system"},
        {"leaseDuration": "10.1s", "renewDeadline": "10s", "retryPeriod": "8.33s"},
    ],
    ids=["no-election", "taking-its-place", "only-the-namespace", "just-right"],
)
def test_leader_election_that_is_allowed(election: dict[str, Any]) -> None:
    """Without election times don't matter; kube-scheduler's Lease may be asked for."""
    load_config(HEAD + yaml_documents.dump({"leaderElection": election}), {}, {})


def test_all_faults_of_all_sources_are_told_at_once() -> None:
    """Rules between fields too, whatever else is wrong."""
    environ = {
        "MOORAGE_CFG_BIND_CONCURENCY": "1",
        "MOORAGE_CFG_BIND_CONCURRENCY": "many",
        "MOORAGE_CFG_LEADER_ELECTION__LEADER_ELECT": "yes",
        "MOORAGE_CFG_PLUGINS__PACKAGES": "a,b,a",
    }
    assert faults(
        f"{HEAD}swapDebounce: -1s\npodInitialBackoffSeconds: 30\nx: 1",
        environ,
        {"serving.securePort": "70000"},
    ) == [
        (
            "MOORAGE_CFG_BIND_CONCURENCY: '1': unknown setting; did you mean "
            '"MOORAGE_CFG_BIND_CONCURRENCY"? (from environment)'
        ),
        (
            "leaderElection.leaderElect: 'yes': must be true or false (from "
            "MOORAGE_CFG_LEADER_ELECTION__LEADER_ELECT)"
        ),
        "serving.securePort: 70000: not in valid range [0, 65535] (from flag)",
        f"podMaxBackoffSeconds: 10: {BELOW_INITIAL} 30",
        "bindConcurrency: 'many': must be an integer (from MOORAGE_CFG_BIND_CONCURRENCY)",
        'swapDebounce: \'-1s\': must be a duration such as "15s", "1m30s" or "200ms" (from file)',
        "plugins.packages: '[…]': a is named twice (from MOORAGE_CFG_PLUGINS__PACKAGES)",
        "x: 1: unknown field (from file)",
    ]


def test_an_unreadable_file_hides_no_other_fault() -> None:
    """Environment and flags are judged all the same."""
    assert len(faults("a: [", {"MOORAGE_CFG_X": ""}, {"bindConcurrency": "0"})) == 3


def test_a_value_in_the_way_of_a_flag_is_told() -> None:
    """The file's own fault is not hidden by what would go below it."""
    assert faults(f"{HEAD}serving: 3", {}, {"serving.securePort": "1"}) == [
        "serving: 3: must be an object (from file)"
    ]


def test_parallelism_is_accepted_and_warned_about() -> None:
    """kube-scheduler's files have it."""
    config = load_config(f"{HEAD}parallelism: 16", {}, {})
    assert config.warnings() == [
        "parallelism: 16: has no effect: a cycle works on all nodes at once"
    ]
    assert OperatorConfiguration().warnings() == []


@given(
    st.builds(
        dict,
        bind_concurrency=st.integers(1, 4096),
        swap_debounce=st.integers(0, 10**6).map(lambda ms: f"{ms}ms"),
        qps=st.none(),
        namespace=st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True),
        verbosity=st.integers(0, 10),
    )
)
def test_what_is_dumped_loads_the_same(values: dict[str, Any]) -> None:
    """--write-config-to writes what --config reads."""
    flags = {
        "bindConcurrency": str(values["bind_concurrency"]),
        "swapDebounce": values["swap_debounce"],
        "leaderElection.resourceNamespace": values["namespace"],
        "logging.verbosity": str(values["verbosity"]),
    }
    config = load_config(None, {}, flags)
    assert load_config(dump_config(config), {}, {}) == config


@given(
    st.dictionaries(
        st.sampled_from(
            ["apiVersion", "kind", "leaderElection", "serving", "bindConcurrency", "x"]
        ),
        PLAIN,
        max_size=4,
    )
)
def test_any_file_is_a_configuration_or_errors(document: dict[str, Any]) -> None:
    """Whatever YAML can say."""
    assert faults(yaml_documents.dump(document))
