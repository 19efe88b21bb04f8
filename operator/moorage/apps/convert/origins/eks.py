"""Amazon Elastic Kubernetes Service: a second kube-scheduler that its users run themselves, as a
workload with flags and a ConfigMap, since the cluster's own takes no configuration.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from moorage.apps.convert import feature_gates
from moorage.apps.convert.feature_gates import FeatureGateError
from moorage.apps.convert.origins.origin import Origin, OriginResult, objects_at
from moorage.apps.convert.remarks import ConversionRemark
from moorage.apps.convert.source_documents import WantedDocuments

_PROGRAM = "kube-scheduler"
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod")
_FAIRNESS = "is left out: the API server's priority and fairness is the limit"
_OWN_LEASE = (
    "is left out: the operator has a Lease of its own; times are in its OperatorConfiguration, "
    "leaderElection"
)
_LEGACY = "is no flag since 1.23: give it to moorage convert as {}"
_FLAGS = {
    "algorithm-provider": _LEGACY.format("--algorithm-provider"),
    "policy-config-file": _LEGACY.format("a file"),
    "policy-configmap": _LEGACY.format("the ConfigMap's YAML"),
    "kube-api-qps": _FAIRNESS,
    "kube-api-burst": _FAIRNESS,
    "scheduler-name": "is no flag since 1.24: write it into the SchedulerProfile, schedulerName",
    "lock-object-name": _OWN_LEASE,
    "lock-object-namespace": _OWN_LEASE,
}
_OF_THE_PROCESS = (
    *("authentication-", "authorization-", "tls-", "client-ca-file", "requestheader-"),
    *("bind-address", "secure-port", "port", "address", "cert-dir", "http2-", "permit-"),
    *("log", "v", "vmodule", "alsologtostderr", "stderrthreshold", "profiling", "contention-"),
    *("config", "kubeconfig", "master", "write-config-to", "show-hidden-metrics", "version"),
)
"""How flags begin that say nothing about decisions."""


def convert(document: Mapping[str, Any]) -> OriginResult:
    """What there is to say of the workload: its flags, and when to stop it."""
    kind, metadata = document["kind"], document.get("metadata") or {}
    name, namespace = metadata.get("name"), metadata.get("namespace", "default")
    text = (
        f"stop it before you apply the profiles, or two schedulers bind the same pods: kubectl -n "
        f"{namespace} scale {kind.lower()}/{name} --replicas=0"
    )
    remarks = [ConversionRemark(f"{kind} {name}", text)]
    for path, container in _containers(document):
        for flag, value in _flags(_words(container)):
            remarks += _of_flag(f"{path}, --{flag}", flag, value)
    return OriginResult((), tuple(remarks))


def _of_flag(path: str, flag: str, value: str) -> Iterator[ConversionRemark]:
    if flag == "feature-gates":
        try:
            gates = feature_gates.read_gates(value)
        except FeatureGateError as error:
            yield ConversionRemark(path, str(error))
            return
        for path_of_gate, text in feature_gates.remarks(gates):
            yield ConversionRemark(f"{path}, {path_of_gate}", text)
    elif flag.startswith("leader-elect"):
        yield ConversionRemark(path, _OWN_LEASE)
    elif flag in _FLAGS:
        yield ConversionRemark(path, _FLAGS[flag])
    elif not flag.startswith(_OF_THE_PROCESS):
        yield ConversionRemark(path, "is left out: nothing here is set by it")


def _containers(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The containers that run kube-scheduler, with their paths."""
    path, place = "spec", document.get("spec")
    if document.get("kind") != "Pod" and isinstance(place, dict):
        template = place.get("template")
        path = "spec.template.spec"
        place = template.get("spec") if isinstance(template, dict) else None
    given = place.get("containers") if isinstance(place, dict) else None
    for at, container in objects_at(f"{path}.containers", given):
        if _runs_scheduler(container):
            yield at, container


def _runs_scheduler(container: Mapping[str, Any]) -> bool:
    image = PurePosixPath(str(container.get("image", "")).split("@")[0].split(":")[0])
    programs = (PurePosixPath(word).name for word in _words(container))
    return image.name.startswith(_PROGRAM) or _PROGRAM in programs


def _words(container: Mapping[str, Any]) -> list[str]:
    """The command line, also one that stands in a text for a shell."""
    found: list[str] = []
    for field in ("command", "args"):
        given = container.get(field)
        for text in given if isinstance(given, list) else ():
            try:
                found += shlex.split(str(text)) if " --" in str(text) else [str(text)]
            except ValueError:  # a quote that does not end
                found.append(str(text))
    return found


def _flags(words: list[str]) -> Iterator[tuple[str, str]]:
    """Each flag with its value, which may be the next word."""
    for i, word in enumerate(words):
        if word.startswith("--"):
            flag, equals, value = word.lstrip("-").partition("=")
            after = words[i + 1] if i + 1 < len(words) else ""
            yield flag, value if equals or after.startswith("-") else after


def _is_scheduler(document: Mapping[str, Any]) -> bool:
    return document.get("kind") in _WORKLOADS and any(_containers(document))


EKS = Origin(
    "KubeSchedulerConfiguration of a second scheduler",
    WantedDocuments(_is_scheduler, (_PROGRAM,)),
    convert,
    manager="EKS",
)
