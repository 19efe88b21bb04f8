"""Global settings: what a KubeSchedulerConfiguration says of the whole scheduler, for profiles here
or for the operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from moorage.apps.convert.kube_configuration import (
    ExtenderConfiguration,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
)
from moorage.apps.convert.remarks import ConversionRemark

_FILES = {"ca": "ca.crt", "cert": "tls.crt", "key": "tls.key"}
"""What an extender's fields <name>File and <name>Data hold, as Secrets name it."""
_OWN_LEASE = "the operator has a Lease of its own, moorage in moorage-system"
_FAIRNESS = "the API server's priority and fairness is the limit"
_JSON = "the operator always speaks JSON"
_LEFT_OUT = {
    "parallelism": "a decision works on all nodes at once",
    "enableProfiling": "the operator's enableProfiling is not supported yet",
    "enableContentionProfiling": "there are no locks to profile",
    "delayCacheUntilActive": "the operator's delayCacheUntilActive is not supported yet",
    "leaderElection.resourceName": _OWN_LEASE,
    "leaderElection.resourceNamespace": _OWN_LEASE,
    "clientConnection.qps": _FAIRNESS,
    "clientConnection.burst": _FAIRNESS,
    "clientConnection.contentType": _JSON,
    "clientConnection.acceptContentTypes": _JSON,
}
_ELECTION = ("leaderElect", "leaseDuration", "renewDeadline", "retryPeriod")


def of_every_profile(
    config: KubeSchedulerConfiguration, profile: KubeSchedulerProfile
) -> dict[str, Any]:
    """What is global there and a profile's here, where it was set at all; a profile's own
    percentage goes first.
    """
    found: dict[str, Any] = {}
    if profile.percentage_of_nodes_to_score is not None:
        found["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    elif "percentage_of_nodes_to_score" in config.model_fields_set:
        found["percentageOfNodesToScore"] = config.percentage_of_nodes_to_score
    if "pod_initial_backoff_seconds" in config.model_fields_set:
        found["podInitialBackoffSeconds"] = config.pod_initial_backoff_seconds
    if "pod_max_backoff_seconds" in config.model_fields_set:
        found["podMaxBackoffSeconds"] = config.pod_max_backoff_seconds
    return found


def remarks(config: KubeSchedulerConfiguration) -> Iterator[ConversionRemark]:
    """Where to say what no profile says."""
    given = config.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for path, text in _LEFT_OUT.items():
        section, _, field = path.rpartition(".")
        if field in (given.get(section, {}) if section else given):
            yield ConversionRemark(path, f"is left out: {text}")
    election = given.get("leaderElection", {})
    if own := {field: election[field] for field in _ELECTION if field in election}:
        text = "is the operator's: write into its OperatorConfiguration: leaderElection"
        yield ConversionRemark("leaderElection", f"{text}: {_flow(own)}")
    if kubeconfig := given.get("clientConnection", {}).get("kubeconfig"):
        text = f"is the operator's: moorage run --kubeconfig {kubeconfig}"
        yield ConversionRemark("clientConnection.kubeconfig", text)


def _flow(fields: dict[str, Any]) -> str:
    """Fields as YAML in one line."""
    return "{" + ", ".join(f"{name}: {str(value).lower()}" for name, value in fields.items()) + "}"


# ---- extenders -----------------------------------------------------------------------------------


def extenders(
    config: KubeSchedulerConfiguration,
) -> tuple[list[dict[str, Any]], list[ConversionRemark]]:
    """Extenders as a profile has them, and what has to be done for them."""
    found: list[ConversionRemark] = []
    documents = [_extender(i, extender, found) for i, extender in enumerate(config.extenders)]
    return documents, found


def _extender(
    i: int, extender: ExtenderConfiguration, found: list[ConversionRemark]
) -> dict[str, Any]:
    path = f"extenders[{i}]"
    document = extender.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    tls = document.pop("tlsConfig", {})
    found += _into_a_secret(f"{path}.tlsConfig", tls, f"extender-{i}")
    if not _is_trusted(extender):
        tls["insecure"] = True
        text = "insecure: true is written: without HTTPS or a CA nobody knows who answers"
        found.append(ConversionRemark(f"{path}.tlsConfig", text))
    if host := urlsplit(extender.url_prefix).hostname:
        text = "the OperatorConfiguration has to allow the host: extenders: "
        found.append(ConversionRemark(f"{path}.urlPrefix", f"{text}{{allowedHosts: [{host}]}}"))
    return {**document, **({"tlsConfig": tls} if tls else {})}


def _into_a_secret(path: str, tls: dict[str, Any], secret: str) -> Iterator[ConversionRemark]:
    """Replace certificates and keys, in files or not, by a reference to a Secret."""
    for name, key in _FILES.items():
        for field in (f"{name}File", f"{name}Data"):
            if tls.pop(field, ""):
                tls["secretRef"] = {"name": secret}
                text = (
                    f"is left out: make a Secret {secret} in the operator's namespace with this "
                    f"as its {key}"
                )
                yield ConversionRemark(f"{path}.{field}", text)


def _is_trusted(extender: ExtenderConfiguration) -> bool:
    tls = extender.tls_config
    https = extender.url_prefix.lower().startswith("https:")
    return https and tls is not None and bool(tls.ca_data or tls.ca_file)
