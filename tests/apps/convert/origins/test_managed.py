"""EKS and AKS: configurations of kube-scheduler, and what is around them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.apps.convert.origins.cases import Converted, converted
from tests.apps.convert.test_convert import CONFIG, config_map


def deployment(*args: str, kind: str = "Deployment", **container: Any) -> dict[str, Any]:
    """A workload that runs kube-scheduler."""
    image = "registry.test/scheduler-plugins/kube-scheduler:v0.34"
    spec: dict[str, Any] = {
        "containers": [{"name": "sidecar"}, {"image": image, "args": list(args), **container}]
    }
    return {
        "kind": kind,
        "metadata": {"name": "second", "namespace": "kube-system"},
        "spec": spec if kind == "Pod" else {"template": {"spec": spec}},
    }


def eks(*args: str, **container: Any) -> Converted:
    """The report on a second scheduler and its configuration; of the workload what is always said
    is left out.
    """
    bodies = [deployment(*args, **container), config_map(config=yaml.safe_dump(CONFIG))]
    made = converted("eks", "---\n".join(map(yaml.safe_dump, bodies)))
    return made._replace(lines=[line for line in made.lines if "stop it before" not in line])


def test_a_second_scheduler() -> None:
    """Its configuration is converted; it is to be stopped before."""
    text = "---\n".join(map(yaml.safe_dump, (deployment(), config_map(a=yaml.safe_dump(CONFIG)))))
    made = converted("eks", text)
    assert (list(made.specs), made.status) == (["a"], 0)
    (line,) = made.lines
    assert line.startswith("warning: Deployment second: stop it before you apply the profiles, ")
    assert line.endswith(": kubectl -n kube-system scale deployment/second --replicas=0")


PLACE = "warning: spec.template.spec.containers[1], "
GATES = "spec.template.spec.containers[1], --feature-gates, "
FLAGS: dict[str, tuple[Converted, list[str]]] = {
    "of the process": (eks("--config=/etc/c.yaml", "--v=4", "--secure-port", "1"), []),
    "a gate": (
        eks("--feature-gates=GenericWorkload=false"),
        [f"warning: {GATES}GenericWorkload"],
    ),
    "a gate in the next word": (
        eks("--feature-gates", "GenericWorkload=false"),
        [f"warning: {GATES}GenericWorkload"],
    ),
    "a gate that is none": (eks("--feature-gates=x"), [f"{PLACE}--feature-gates: 'x': write"]),
    "a lock": (eks("--leader-elect=false"), [f"{PLACE}--leader-elect: is left out: the operator"]),
    "an old name": (eks("--scheduler-name=a"), [f"{PLACE}--scheduler-name: is no flag since"]),
    "one that nobody knows": (eks("--own=1"), [f"{PLACE}--own: is left out: nothing here"]),
    "a shell's text": (
        eks("kube-scheduler --kube-api-qps=3 --config=x", image="a.test/b", command=["sh", "-c"]),
        [f"{PLACE}--kube-api-qps: is left out: the API server's"],
    ),
}


@pytest.mark.parametrize("case", FLAGS)
def test_flags(case: str) -> None:
    """What they say that the configuration does not."""
    made, want = FLAGS[case]
    assert (made.status, len(made.lines)) == (0, len(want)), made.lines
    for line, beginning in zip(made.lines, want, strict=True):
        assert line.startswith(beginning)


@pytest.mark.parametrize("kind", ["StatefulSet", "Pod"])
def test_other_workloads(kind: str) -> None:
    """Wherever their containers are."""
    text = "---\n".join(map(yaml.safe_dump, (deployment("--own", kind=kind), CONFIG)))
    assert len(converted("eks", text).lines) == 2


ODD: list[dict[str, Any]] = [
    {"kind": "Deployment", "spec": 3},
    {"kind": "Deployment", "spec": {"template": 3}},
    {"kind": "Pod", "spec": {"containers": [3, {"command": 3, "args": [3, None]}]}},
    {
        "kind": "Pod",
        "metadata": None,
        "spec": {"containers": [{"command": ["kube-scheduler", "--a '"]}]},
    },
]


@pytest.mark.parametrize("body", ODD)
def test_odd_workloads_end_nothing(body: dict[str, Any]) -> None:
    """Whatever stands where something else should."""
    assert converted("eks", "---\n".join(map(yaml.safe_dump, (body, CONFIG)))).status == 0


def aks(name: str, **config: Any) -> Converted:
    """The report on an object of AKS."""
    body = {
        "apiVersion": "aks.azure.com/v1alpha1",
        "kind": "SchedulerConfiguration",
        "metadata": {"name": name},
        "spec": {"rawConfig": yaml.safe_dump({**CONFIG, **config})},
    }
    return converted("aks", yaml.safe_dump(body))


def test_the_object_that_aks_reads() -> None:
    """It is to be deleted before."""
    made = aks("upstream")
    assert (list(made.specs), made.status) == (["a"], 0)
    (line,) = made.lines
    assert line.startswith("warning: spec.rawConfig: AKS serves these profiles until ")


def test_an_object_of_another_name() -> None:
    """AKS never read it."""
    (line,) = aks("mine").lines
    assert line.startswith("warning: metadata.name: 'mine' was never in effect: ")


def test_a_wrong_configuration() -> None:
    """As everywhere: errors, and nothing to use."""
    made = aks("upstream", parallelism=0)
    assert (made.status, made.specs) == (1, {})
    assert made.lines[-1].startswith(
        "f: document 1, spec, rawConfig: document 1: error: parallelism: 0: "
    )


@pytest.mark.parametrize("origin", ["eks", "aks"])
def test_the_name_that_is_never_free(origin: str) -> None:
    """Nobody can stop the scheduler that the provider runs."""
    body = {**CONFIG, "profiles": [{"schedulerName": "default-scheduler"}]}
    lines = converted(origin, yaml.safe_dump(body)).lines
    assert lines[-1].startswith(
        f"warning: SchedulerProfile default-scheduler: nobody but {origin.upper()} can stop "
    )


@pytest.mark.parametrize(
    ("origin", "what"),
    [
        ("eks", "KubeSchedulerConfiguration of a second scheduler"),
        ("aks", "KubeSchedulerConfiguration in a SchedulerConfiguration of AKS"),
        ("volcano", "volcano-scheduler.conf"),
        ("yunikorn", "queues.yaml of YuniKorn"),
    ],
)
def test_nothing_to_convert(origin: str, what: str) -> None:
    """What was looked for is named."""
    made = converted(origin, "kind: Pod")
    assert (made.status, made.lines) == (2, [f"there is no {what} in f"])
