"""Apache YuniKorn: its ConfigMaps, and queues.yaml in them, as SchedulerProfiles.

How nodes are sorted has an equal here; queues with quotas and who may use them have none. Source:
read in apache/yunikorn-core, July 2026.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from moorage.api import yaml_documents
from moorage.apps.convert.assembling import FIT
from moorage.apps.convert.origins import yunikorn_tables as tables
from moorage.apps.convert.origins.fit_scoring import FitTerm, combined
from moorage.apps.convert.origins.origin import Origin, OriginResult, objects_at
from moorage.apps.convert.remarks import ConversionRemark
from moorage.apps.convert.source_documents import WantedDocuments

_NAME = "yunikorn"
_CONFIG_MAPS = ("yunikorn-configs", "yunikorn-defaults")
_POLICIES = {"": -1, "fair": -1, "binpacking": 1}
_RESOURCES = {"vcore": "cpu"}
"""Where YuniKorn has a name of its own."""


def convert(document: Mapping[str, Any]) -> OriginResult:
    """Of each partition a profile. Raises DocumentError when a text in a ConfigMap is no YAML."""
    if "partitions" in document:
        return _of_queues("", document)
    specs: list[dict[str, Any]] = []
    remarks: list[ConversionRemark] = []
    data = document.get("data")
    for key, value in data.items() if isinstance(data, dict) else ():
        if not key.endswith(".yaml"):
            remarks.append(ConversionRemark(f"data[{key}]", tables.of_setting(key)))
            continue
        for one in yaml_documents.load_all(str(value)):
            if isinstance(one, dict):
                made = _of_queues(f"data[{key}].", one)
                specs += made.specs
                remarks += made.remarks
    return OriginResult(tuple(specs), tuple(remarks))


def _of_queues(prefix: str, document: Mapping[str, Any]) -> OriginResult:
    specs: list[dict[str, Any]] = []
    remarks = [ConversionRemark("", text) for text in tables.ALWAYS]
    for path, partition in objects_at(f"{prefix}partitions", document.get("partitions")):
        spec, told = _profile(path, partition)
        specs.append(spec)
        remarks += told
        for field, value in partition.items():
            remarks += _of_field(f"{path}.{field}", field, value)
    return OriginResult(tuple(specs), tuple(remarks))


def _profile(
    path: str, partition: Mapping[str, Any]
) -> tuple[dict[str, Any], list[ConversionRemark]]:
    """Nodes are sorted by what is used of them, and by nothing else."""
    policy = partition.get("nodesortpolicy")
    term, remarks = _node_sorting(f"{path}.nodesortpolicy", policy)
    fit = combined([term])
    plugins: dict[str, Any] = {}
    if fit.weight:
        plugins["score"] = {"enabled": [{"name": FIT}]}
    preemption = partition.get("preemption")
    if isinstance(preemption, dict) and preemption.get("enabled") is False:
        plugins["multiPoint"] = {"disabled": [{"name": "DefaultPreemption"}]}
    spec = {
        "schedulerName": _NAME,
        "preset": "NoScoring",
        **({"plugins": plugins} if plugins else {}),
        **({"pluginConfig": [{"name": FIT, "args": fit.args}]} if fit.weight else {}),
    }
    return spec, remarks


def _node_sorting(path: str, policy: Any) -> tuple[FitTerm, list[ConversionRemark]]:
    given = policy if isinstance(policy, dict) else {}
    kind, remarks = str(given.get("type", "")), []
    if kind not in _POLICIES:
        text = f"{kind!r} is left out: should be fair or binpacking; fair counts"
        remarks.append(ConversionRemark(f"{path}.type", text))
    weights: dict[str, float] = {}
    listed = given.get("resourceweights")
    for name, weight in listed.items() if isinstance(listed, dict) else ():
        if isinstance(weight, int | float) and 0 <= weight < float("inf"):
            weights[_RESOURCES.get(str(name), str(name))] = weight
        else:
            text = f"{weight!r} is left out: should be a number, 0 or more"
            remarks.append(ConversionRemark(f"{path}.resourceweights[{name}]", text))
    return FitTerm(_POLICIES.get(kind, -1), weights or {"cpu": 1, "memory": 1}), remarks


def _of_field(path: str, field: str, value: Any) -> Iterator[ConversionRemark]:
    """What a field of a partition or queue says that no profile can."""
    if field == "queues":
        for place, queue in objects_at(path, value):
            for name, one in queue.items():
                yield from _of_field(f"{place}.{name}", name, one)
    elif field in tables.GROUPS and isinstance(value, dict):
        for name, one in value.items():
            yield from _of_field(f"{path}.{name}", name, one)
    elif value not in (None, "", [], {}) and (text := tables.of_field(field, value)):
        yield ConversionRemark(path, text)


def _is_configuration(document: Mapping[str, Any]) -> bool:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    is_config_map = document.get("kind") == "ConfigMap" and name in _CONFIG_MAPS
    return is_config_map or isinstance(document.get("partitions"), list)


YUNIKORN = Origin(
    "queues.yaml of YuniKorn", WantedDocuments(_is_configuration, ("partitions",)), convert
)
