"""The legacy Policy (kube-scheduler up to 1.22) and the two algorithm providers, as a
KubeSchedulerConfiguration v1.

A list that is absent stands for the default one, an empty list for none. Source: kube-scheduler
1.20.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from moorage.api.decoding import DecodeError, decoder
from moorage.apps.convert.kube_configuration import API_VERSION, KIND, without_nulls
from moorage.apps.convert.kube_plugins import KUBE_PLUGINS
from moorage.apps.convert.legacy.policy_document import (
    Policy,
    PredicateArgument,
    PredicatePolicy,
    PriorityArgument,
    PriorityPolicy,
    canonical,
)
from moorage.apps.convert.legacy.policy_tables import (
    AFFINITY,
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    FIT,
    GONE,
    INTER_POD,
    MANDATORY,
    PREDICATES,
    PRIORITIES,
    PROVIDERS,
    SPREAD,
    SPREADING,
    STRATEGIES,
    SYSTEM_CONSTRAINTS,
    WITHOUT_EFFECT,
)
from moorage.apps.convert.legacy.v1beta import WEIGHTS_BEFORE_V1BETA3
from moorage.apps.convert.remarks import ConversionRemark
from moorage.core.framework.arguments import Violation
from moorage.core.framework.revisions import MAX_WEIGHT
from moorage.core.structures.likeness import suggest

_DEFAULT_PREDICATES = [PredicatePolicy(name=name) for name in DEFAULT_PREDICATES]
_DEFAULT_PRIORITIES = [
    PriorityPolicy(name=name, weight=weight) for name, weight in DEFAULT_PRIORITIES.items()
]
_NO_DEVICE_CLAIMS = (
    "a Policy knows no device claims: enable DynamicResources at multiPoint if pods have some"
)
_ALWAYS = ("SchedulingGates", "PrioritySort", "DefaultPreemption", "DefaultBinder")


def is_policy(document: Mapping[str, Any]) -> bool:
    """Whether this is a Policy of kube-scheduler; old files often leave the version out."""
    return document.get("kind") == "Policy" and document.get("apiVersion") in ("v1", None, "")


def provider(name: str) -> tuple[dict[str, Any], list[ConversionRemark]]:
    """What an algorithm provider stood for. Raises KeyError for one that never was."""
    if name not in PROVIDERS:
        raise KeyError(name)
    weights = [
        {"name": plugin, "weight": weight} for plugin, weight in WEIGHTS_BEFORE_V1BETA3.items()
    ]
    profile: dict[str, Any] = {"plugins": {"multiPoint": {"enabled": weights}}}
    if name == "ClusterAutoscalerProvider":
        profile["pluginConfig"] = [
            {"name": FIT, "args": {"scoringStrategy": STRATEGIES["MostRequestedPriority"]}}
        ]
    gone = "NodePreferAvoidPodsPriority"
    return _configuration(profile, []), [ConversionRemark(name, f"{gone} {GONE[gone]}")]


def as_v1(document: Mapping[str, Any]) -> tuple[dict[str, Any], list[ConversionRemark]]:
    """The configuration that means the same as a Policy. Raises DecodeError for a Policy that was
    never valid.
    """
    policy = decoder(Policy).decode(canonical(without_nulls(document)))
    converting = _Converting(policy.hard_pod_affinity_symmetric_weight)
    converting.take(policy)
    if converting.faults:
        raise DecodeError(converting.faults)
    profile = {"plugins": converting.plugins(), "pluginConfig": list(converting.plugin_config())}
    extenders = [extender.as_v1() for extender in policy.extenders]
    return _configuration(profile, extenders), converting.remarks


def _configuration(profile: dict[str, Any], extenders: list[dict[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile], "extenders": extenders}


class _Converting:
    """What a Policy asks for, by plugin: which filter, which score with what weight, and
    arguments.
    """

    def __init__(self, hard_weight: int) -> None:
        self.remarks: list[ConversionRemark] = []
        self.faults: list[Violation] = []
        self._hard_weight = hard_weight
        self._filters: set[str] = set()
        self._scores: dict[str, PriorityPolicy] = {}
        """By plugin, the priority whose weight it has."""
        self._strategy: dict[str, Any] | None = None
        self._required: list[dict[str, Any]] = []
        self._preferred: list[dict[str, Any]] = []
        self._spread_over: list[str] = []
        self._spreads_services = False

    def take(self, policy: Policy) -> None:
        """All that it says, but for its extenders."""
        self._take_predicates(
            _DEFAULT_PREDICATES if policy.predicates is None else policy.predicates
        )
        if policy.priorities is None:
            self._take_priorities("default priorities", _DEFAULT_PRIORITIES)
        else:
            self._take_priorities("priorities", policy.priorities)
        if policy.always_check_all_predicates:
            text = "has no equivalent: the first plugin that refuses a node settles it"
            self._remark("alwaysCheckAllPredicates", text)
        self._remark("", _NO_DEVICE_CLAIMS)

    def _remark(self, path: str, text: str) -> None:
        self.remarks.append(ConversionRemark(path, text))

    # ---- predicates ------------------------------------------------------------------------------

    def _take_predicates(self, predicates: Sequence[PredicatePolicy]) -> None:
        for name in MANDATORY:
            self._filters.update(PREDICATES[name])
        for i, predicate in enumerate(predicates):
            self._take_predicate(f"predicates[{i}]", predicate)

    def _take_predicate(self, path: str, predicate: PredicatePolicy) -> None:
        name, argument = predicate.name, predicate.argument or PredicateArgument()
        if (labels := argument.labels_presence) is not None:
            self._required += [_requirement(label, labels.presence) for label in labels.labels]
            self._filters.add(AFFINITY)
        elif argument.service_affinity is not None:
            text = (
                "serviceAffinity has no equivalent: pods of a service are no longer kept to nodes "
                "alike in labels"
            )
            self._remark(path, f"{name}: {text}")
        elif name in PREDICATES:
            self._filters.update(PREDICATES[name])
        else:
            text = f"unknown predicate{suggest(name, PREDICATES)}"
            self.faults.append(Violation(f"{path}.name", name, text))

    # ---- priorities ------------------------------------------------------------------------------

    def _take_priorities(self, where: str, priorities: Sequence[PriorityPolicy]) -> None:
        """In the order of their names, as kube-scheduler took them."""
        for i, priority in sorted(enumerate(priorities), key=lambda pair: (pair[1].name, pair[0])):
            path = f"{where}[{i}]"
            if not 0 < priority.weight <= MAX_WEIGHT:
                text = "must be positive, and not too high"
                self.faults.append(Violation(f"{path}.weight", priority.weight, text))
            elif not self._took_argument(path, priority):
                self._take_named(path, priority)

    def _take_named(self, path: str, priority: PriorityPolicy) -> None:
        name = priority.name
        if name in GONE:
            self.remarks.append(ConversionRemark(path, f"{name} {GONE[name]}"))
        elif name in PRIORITIES:
            if self._score(path, PRIORITIES[name], priority) and name in STRATEGIES:
                self._strategy = STRATEGIES[name]
            if name in SPREADING:
                self._spreads_services = True
        elif name not in WITHOUT_EFFECT:
            self.faults.append(
                Violation(f"{path}.name", name, f"unknown priority{suggest(name, PRIORITIES)}")
            )

    def _took_argument(self, path: str, priority: PriorityPolicy) -> bool:
        """Whether the priority goes by its argument, whatever its name."""
        argument = priority.argument or PriorityArgument()
        if (ratio := argument.requested_to_capacity_ratio_arguments) is not None:
            if self._score(path, FIT, priority):
                self._strategy = ratio.strategy()
        elif (label := argument.label_preference) is not None:
            term = {"matchExpressions": [_requirement(label.label, label.presence)]}
            self._preferred.append({"weight": min(priority.weight, 100), "preference": term})
            self._score_alike(path, AFFINITY, priority, "labelPreference is a preferred term")
        elif (spread := argument.service_anti_affinity) is not None:
            self._spread_over.append(spread.label)
            text = "serviceAntiAffinity is a default constraint"
            self._score_alike(path, SPREAD, priority, text)
        else:
            return False
        return True

    def _score_alike(self, path: str, plugin: str, priority: PriorityPolicy, text: str) -> None:
        """A plugin that does nearly what the priority did; ``text`` says as what."""
        self._score(path, plugin, priority)
        self._remark(path, f"{priority.name}: {text} of {plugin} now: nearly the same")

    def _score(self, path: str, plugin: str, priority: PriorityPolicy) -> bool:
        """Whether this priority's weight is the plugin's: of several that one plugin stands for,
        the heaviest one's is.
        """
        before = self._scores.get(plugin)
        wins = before is None or priority.weight > before.weight
        if before is not None:
            stays, goes = (priority, before) if wins else (before, priority)
            text = f"{plugin} stands for both {stays.name} and {goes.name} now"
            self._remark(path, f"{text}: it has the weight of {stays.name}")
        if wins:
            self._scores[plugin] = priority
        return wins

    # ---- what comes of it ------------------------------------------------------------------------

    def plugins(self) -> dict[str, Any]:
        """Those that are needed at all their points, less the points where they are not."""
        names = {*self._filters, *self._scores, *_ALWAYS}
        needed = [plugin for plugin in KUBE_PLUGINS.values() if plugin.name in names]
        enabled: list[dict[str, Any]] = [
            {"name": one.name, **_weight(self._scores.get(one.name))} for one in needed
        ]
        plugins: dict[str, Any] = {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}}
        for point in ("preFilter", "filter", "preScore", "score"):
            wanted = self._filters if point in ("preFilter", "filter") else self._scores.keys()
            idle = [
                {"name": one.name}
                for one in needed
                if point in one.points and one.name not in wanted
            ]
            if idle:
                plugins[point] = {"disabled": idle if wanted else [{"name": "*"}]}
        return plugins

    def plugin_config(self) -> Iterator[dict[str, Any]]:
        """Arguments that are not the default ones."""
        if self._strategy is not None and self._strategy["type"] != "LeastAllocated":
            yield {"name": FIT, "args": {"scoringStrategy": self._strategy}}
        if affinity := self._added_affinity():
            yield {"name": AFFINITY, "args": {"addedAffinity": affinity}}
        if SPREAD in self._scores and (constraints := self._constraints()) is not None:
            yield {
                "name": SPREAD,
                "args": {"defaultConstraints": constraints, "defaultingType": "List"},
            }
        if self._hard_weight > 1 and INTER_POD in {*self._filters, *self._scores}:
            yield {"name": INTER_POD, "args": {"hardPodAffinityWeight": self._hard_weight}}

    def _added_affinity(self) -> dict[str, Any]:
        affinity: dict[str, Any] = {}
        if self._required:
            terms = {"nodeSelectorTerms": [{"matchExpressions": self._required}]}
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = terms
        if self._preferred:
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = self._preferred
        return affinity

    def _constraints(self) -> list[dict[str, Any]] | None:
        """The default constraints to list; None where the built-in ones will do."""
        if self._spreads_services and not self._spread_over:
            return None
        keys = [
            *(SYSTEM_CONSTRAINTS if self._spreads_services else ()),
            *((label, 1) for label in dict.fromkeys(self._spread_over)),
        ]
        return [
            {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}
            for key, skew in dict(keys).items()
        ]


def _weight(priority: PriorityPolicy | None) -> dict[str, int]:
    return {} if priority is None else {"weight": priority.weight}


def _requirement(label: str, presence: bool) -> dict[str, str]:
    return {"key": label, "operator": "Exists" if presence else "DoesNotExist"}
