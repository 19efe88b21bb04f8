"""Feature gates of kube-scheduler 1.37, as its flag ``--feature-gates`` sets them.

Nothing here is switched by a gate: each feature is there or not. So a gate that was set otherwise
is told. Gates that are locked are not here, since nobody can set them. Source:
``pkg/features/kube_features.go`` and what ``pkg/scheduler`` asks for, v1.37.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from moorage.apps.convert.remarks import ConversionRemark
from moorage.core.structures.likeness import suggest

_COMPONENT: Final = "kube:"
"""What may stand before a gate of Kubernetes itself."""
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
"""What Go reads as a boolean."""


class FeatureGateError(ValueError):
    """The flag is not one that kube-scheduler would read."""


class FeatureGate(NamedTuple):
    """A gate; ``ours`` is whether Moorage has the feature, None where no decision goes by it."""

    name: str
    stage: Literal["Alpha", "Beta", "GA", "gone"]
    ours: bool | None
    otherwise: str = ""
    """What is so here, whatever was set."""


_GROUPS = "pod groups are scheduled wherever the API server serves them"
_IS_GENERIC = "is a part of GenericWorkload since 1.37"
GATES: Final = (
    FeatureGate("GenericWorkload", "Beta", True, _GROUPS),
    FeatureGate("GangScheduling", "gone", True, f"{_IS_GENERIC}; {_GROUPS}"),
    FeatureGate(
        "WorkloadAwarePreemption", "gone", True, f"{_IS_GENERIC}; pod groups preempt as groups"
    ),
    FeatureGate(
        "TopologyAwareWorkloadScheduling",
        "Alpha",
        True,
        "a pod group's topology constraint counts wherever the API server keeps it",
    ),
    FeatureGate(
        "DRAWorkloadResourceClaims",
        "Beta",
        True,
        "claims of a pod group are reserved for it wherever the API server keeps them",
    ),
    FeatureGate("CompositePodGroup", "Alpha", False, "groups of pod groups are refused"),
    FeatureGate(
        "PodGroupPreemptionPolicy",
        "Alpha",
        True,
        "a pod group's preemption policy counts wherever the API server keeps it",
    ),
    FeatureGate("WorkloadWithJob", "Alpha", None),
    FeatureGate("DRAConsumableCapacity", "Beta", True, "devices can be shared by capacity"),
    FeatureGate("DRADerivedAttributes", "Alpha", False, "devices have no derived attributes"),
    FeatureGate(
        "DRADeviceBindingConditions", "Beta", True, "binding waits for conditions of devices"
    ),
    FeatureGate(
        "DRADeviceCompatibilityGroups", "Alpha", False, "compatibility groups do not count"
    ),
    FeatureGate("DRADeviceTaints", "GA", True, "taints of devices count"),
    FeatureGate("DRADeviceTaintRules", "GA", True, "DeviceTaintRules count"),
    FeatureGate(
        "DRAFractionalCapacityRange", "Beta", True, "a range of capacity may have fractions"
    ),
    FeatureGate("DRAListTypeAttributes", "Alpha", False, "attributes that are lists are not read"),
    FeatureGate(
        "DRANodeAllocatableResources",
        "Alpha",
        False,
        "devices take no resources of their node such as cpu",
    ),
    FeatureGate(
        "DRAOptionalNodeOperations",
        "Alpha",
        False,
        "what devices say of optional steps on nodes is not read",
    ),
    FeatureGate("DRAPartitionableDevices", "Beta", True, "devices share counters"),
    FeatureGate(
        "DRASchedulerFilterTimeout", "Beta", True, "filterTimeout of DynamicResources counts"
    ),
    FeatureGate(
        "InPlacePodLevelResourcesVerticalScaling",
        "Beta",
        True,
        "what was given to a pod as a whole counts",
    ),
    FeatureGate(
        "InPlacePodVerticalScalingSchedulerPreemption",
        "Alpha",
        False,
        "no room is made for a pod that is resized",
    ),
    FeatureGate("InterPodAffinityHostnameFastPath", "Alpha", None),
    FeatureGate(
        "MatchLabelKeysInPodTopologySpread", "Beta", True, "matchLabelKeys of constraints count"
    ),
    FeatureGate(
        "NominatedNodeNameForExpectation",
        "Beta",
        False,
        "a pod's node is written when the pod is bound, not before",
    ),
    FeatureGate("OpportunisticBatching", "Beta", None),
    FeatureGate("PodLevelResources", "Beta", True, "resources of a pod as a whole count"),
    FeatureGate("SchedulerAsyncAPICalls", "Beta", None),
    FeatureGate("SchedulerAsyncPreemption", "Beta", None),
    FeatureGate(
        "SchedulerPopFromBackoffQ", "Beta", True, "a backoff ends early when no other pod waits"
    ),
    FeatureGate("SchedulerPreQueueingHints", "Alpha", None),
    FeatureGate("StorageCapacityScoring", "Beta", True, "VolumeBinding scores nodes by storage"),
    FeatureGate(
        "TaintTolerationComparisonOperators", "Alpha", False, "tolerations have no Gt and Lt"
    ),
    FeatureGate(
        "VolumeLimitScaling",
        "Beta",
        True,
        "a CSIDriver can keep pods from nodes that it is not installed on",
    ),
)
BY_NAME: Final = {gate.name: gate for gate in GATES}
_ALL: Final = {"AllAlpha": "Alpha", "AllBeta": "Beta"}


def read_gates(flag: str) -> dict[str, bool]:
    """Gate -> whether it is on, of the flag's value; of two the last one counts. Raises
    FeatureGateError.
    """
    pairs = (pair.strip() for pair in flag.split(","))
    return dict(_pair(pair) for pair in pairs if pair)


def _pair(text: str) -> tuple[str, bool]:
    name, _, value = (part.strip() for part in text.removeprefix(_COMPONENT).partition("="))
    if name and value in _BOOLS:
        return name, _BOOLS[value]
    raise FeatureGateError(f"{text!r}: write GATE=true or GATE=false, with commas between them")


def remarks(given: Mapping[str, bool]) -> Iterator[ConversionRemark]:
    """What is otherwise here than these gates say."""
    for name in given:
        if name not in BY_NAME and name not in _ALL:
            text = "is left out: no decision of kube-scheduler 1.37 goes by it"
            yield ConversionRemark(name, f"{text}{suggest(name, BY_NAME)}")
    for name, on in _expanded(given).items():
        gate = BY_NAME[name]
        if gate.ours is not None and (gate.ours != on or gate.stage == "gone"):
            yield ConversionRemark(f"{name}={str(on).lower()}", gate.otherwise)


def _expanded(given: Mapping[str, bool]) -> dict[str, bool]:
    """The gates that are set, those by AllAlpha and AllBeta among them."""
    found = {
        gate.name: given[every]
        for every, stage in _ALL.items()
        if every in given
        for gate in GATES
        if gate.stage == stage
    }
    return found | {name: on for name, on in given.items() if name in BY_NAME}
