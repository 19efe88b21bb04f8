"""The alerts and the dashboard of manifests/components/monitoring: that they name what the operator
serves, and that alerts fire and clear.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests import dashboard
from tests.generate import ROOT
from tests.rig import ControlPlane
from tests.rig.objects import create, delete
from tests.rig.operators import Operator, install, until, wait_for

FOLDER: Final = ROOT / "manifests" / "components" / "monitoring"
RULES: Final = yaml.safe_load((FOLDER / "prometheus-rule.yaml").read_text(encoding="utf-8"))["spec"]
ALERTS: Final = {rule["alert"]: rule for group in RULES["groups"] for rule in group["rules"]}
TESTS: Final = Path(__file__).with_name("alerts.yaml")
PANELS: Final = [panel for panel in dashboard.dashboard()["panels"] if "targets" in panel]
QUERIES: Final = {
    **{name: rule["expr"] for name, rule in ALERTS.items()},
    **{
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in PANELS
        for target in panel["targets"]
    },
}
OF_SCRAPING: Final = {"up": {"job", "instance"}}
"""What Prometheus itself adds."""

_NAME: Final = re.compile(r"\b((?:moorage|scheduler|rest_client|leader_election|process)_\w+|up)\b")
_MATCHERS: Final = re.compile(r"(\w+)\{([^}]*)\}")
_MATCHER: Final = re.compile(r'(\w+)(=~|=)"([^"]*)"')
_GROUPED: Final = re.compile(r"\b(?:by|on) \(([^)]*)\)")

NODE: Final = """
{apiVersion: v1, kind: Node, metadata: {name: monitored, labels: {only: monitored}},
 status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
"""
GOOD: Final = """
{apiVersion: moorage.dev/v1alpha1, kind: SchedulerProfile, metadata: {name: monitored}, spec: {}}
"""
BAD: Final = """
{apiVersion: moorage.dev/v1alpha1, kind: SchedulerProfile, metadata: {name: monitored-bad},
 spec: {weights: {None: 2}}}
"""
POD: Final = """
{apiVersion: v1, kind: Pod, metadata: {name: monitored, namespace: default},
 spec: {schedulerName: monitored, nodeSelector: {only: monitored},
        containers: [{name: main, image: "registry.example/app:1"}]}}
"""

Served = Mapping[str, Mapping[str, set[str]]]
"""Sample -> label -> values."""


@pytest.fixture(scope="module")
def texts(rig: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Served]:
    """What an operator serves that has placed a pod and refused a spec: the helps, and samples."""
    recorded = {"recording": {"directory": str(tmp_path_factory.mktemp("recording") / "ring")}}
    with Operator(rig, install(rig), "moorage-monitored", recorded) as operator:
        objects = [yaml.safe_load(text) for text in (NODE, GOOD, BAD, POD)]
        create(rig, *objects)
        wait_for(rig, "PodScheduled", "pod/monitored")
        refused = 'moorage_profile_errors{profile="monitored-bad"} 1.0'
        until(lambda: refused in operator.fetched("/metrics"), "the edit is refused")
        text = operator.fetched("/metrics")
        delete(rig, *objects)
    return text, samples(text)


def samples(text: str) -> Served:
    """The samples of Prometheus' text format."""
    found: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for name, value in sample.labels.items():
                labels.setdefault(name, set()).add(value)
    return found


def documented() -> Mapping[str, set[str]]:
    """Metric -> labels, as docs/metrics.md has them from the code: of those that nothing has
    counted yet.
    """
    rows = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8").splitlines()
    cells = (row.split("|") for row in rows if row.startswith("| `"))
    return {cell[1].strip(" `"): set(re.findall(r"`(\w+)`", cell[3])) for cell in cells}


def base(name: str) -> str:
    """A histogram's name of one of its series."""
    return re.sub(r"_(bucket|sum|count)$", "", name)


@pytest.mark.real_only
@pytest.mark.parametrize("which", QUERIES)
def test_what_is_asked_for_is_served(which: str, texts: tuple[str, Served]) -> None:
    """Each metric, each of its labels, and each value of a label."""
    text, served = texts
    query, labels_of = QUERIES[which], documented()
    for name in _NAME.findall(query):
        if name not in OF_SCRAPING:
            assert f"# TYPE {base(name)} " in text, name
    for name, matchers in _MATCHERS.findall(query):
        known = OF_SCRAPING.get(name, {"job", "instance"} | labels_of.get(base(name), set()))
        for label, _, value in _MATCHER.findall(matchers):
            assert label in known, (name, label)
            if label not in ("job", "code"):  # a request need not fail here
                seen = served.get(name, {}).get(label, set())
                told = re.findall(rf"# HELP {base(name)} (.*)", text)[0]
                assert all(one in seen or one in told for one in value.split("|")), (name, value)


def test_panels_can_be_asked(assets: Path, tmp_path: Path) -> None:
    """Their queries are PromQL."""
    asked = [
        target["expr"].replace("$job", "moorage").replace("$__rate_interval", "5m")
        for panel in PANELS
        for target in panel["targets"]
    ]
    rules = [{"record": f"panel:{number}", "expr": query} for number, query in enumerate(asked)]
    (tmp_path / "rules.yaml").write_text(
        yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]})
    )
    _promtool(assets, tmp_path, "check", "rules", "rules.yaml")


@pytest.mark.parametrize("which", QUERIES)
def test_what_is_grouped_by_is_a_label(which: str) -> None:
    """Of a metric in the same query."""
    query = QUERIES[which]
    names = map(base, _NAME.findall(query))
    known = {"job", "instance", "le"}.union(*(documented().get(name, set()) for name in names))
    grouped = ", ".join(_GROUPED.findall(query))
    assert set(filter(None, grouped.split(", "))) <= known


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_legend_says_what_the_query_keeps(panel: Mapping[str, Any]) -> None:
    """Or what a replica's own series has."""
    for target in panel["targets"]:
        kept = {"instance"} | set(", ".join(_GROUPED.findall(target["expr"])).split(", "))
        assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= kept


def test_alerts_fire_and_clear(assets: Path, tmp_path: Path) -> None:
    """By promtool, with what it thinks of the rules."""
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(RULES))
    shutil.copy(TESTS, tmp_path)
    _promtool(assets, tmp_path, "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml")
    _promtool(assets, tmp_path, "test", "rules", TESTS.name)


def _promtool(assets: Path, folder: Path, *command: str) -> None:
    """It finds nothing wrong."""
    done = subprocess.run(
        [assets / "promtool", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_is_tested_and_explained(alert: str) -> None:
    """Not there, there, and not there again, but for one whose last word is that it is; and its
    paragraph in the page that it names.
    """
    asked = [
        bool(one.get("exp_alerts"))
        for test in yaml.safe_load(TESTS.read_text(encoding="utf-8"))["tests"]
        for one in test["alert_rule_test"]
        if one["alertname"] == alert
    ]
    assert [fires for fires, _ in itertools.groupby(asked)][:3] == [False, True, False]
    page, _, heading = ALERTS[alert]["annotations"]["runbook"].partition("#")
    assert heading == alert.lower()
    assert f"### {alert}\n" in (ROOT / page).read_text(encoding="utf-8")


def test_each_paragraph_has_an_alert() -> None:
    """In the same order."""
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    assert re.findall(r"^### (\w+)$", page, re.MULTILINE) == list(ALERTS)


def test_panels_lie_beside_each_other() -> None:
    """Each within the grid's 24 columns, none on another, each with a number of its own."""
    panels = dashboard.dashboard()["panels"]
    cells = list(itertools.chain.from_iterable(map(_cells, panels)))
    assert len(cells) == len(set(cells))
    assert all(0 <= x < 24 for x, _ in cells)
    assert len({panel["id"] for panel in panels}) == len(panels)


def _cells(panel: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    place = panel["gridPos"]
    rows = range(place["y"], place["y"] + place["h"])
    return itertools.product(range(place["x"], place["x"] + place["w"]), rows)


def kustomized(assets: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """The objects that a kustomization makes."""
    done = subprocess.run(
        [assets / "kubectl", "kustomize", folder], capture_output=True, text=True, check=True
    )
    yield from yaml.safe_load_all(done.stdout)


def test_the_folder_is_applied_as_a_whole(assets: Path) -> None:
    """kustomize makes of it all that a cluster with the Prometheus operator takes."""
    objects = {one["kind"]: one for one in kustomized(assets, FOLDER)}
    assert objects.keys() == {"ConfigMap", "ServiceMonitor", "PrometheusRule"}
    assert {one["metadata"]["namespace"] for one in objects.values()} == {"moorage-system"}
    assert json.loads(objects["ConfigMap"]["data"]["dashboard.json"])["title"] == "Moorage"
    (service,) = (
        one
        for one in kustomized(assets, ROOT / "manifests" / "components" / "manager")
        if one["kind"] == "Service"
    )
    monitor = objects["ServiceMonitor"]["spec"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert service["metadata"]["labels"][monitor["jobLabel"]] == "moorage"
    assert monitor["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]
