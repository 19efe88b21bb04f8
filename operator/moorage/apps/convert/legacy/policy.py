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
    PredicatePolicy,
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
from moorage.core.framework.revisions import MAX_WEIGHT, suggest

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
    converting = _Converting(policy)
    if converting.faults:
        raise DecodeError(converting.faults)
    profile = {"plugins": converting.plugins(), "pluginConfig": list(converting.plugin_config())}
    return _configuration(
        profile, [extender.as_v1() for extender in policy.extenders]
    ), converting.remarks


def _configuration(profile: dict[str, Any], extenders: list[dict[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile], "extenders": extenders}


class _Converting:
    """What a Policy asks for, by plugin: which filter, which score with what weight, and
    arguments.
    """

    def __init__(self, policy: Policy) -> None:
        self.remarks: list[ConversionRemark] = []
        self.faults: list[Violation] = []
        self.filters: set[str] = set()
        self.scores: dict[str, int] = {}
        self._reasons: dict[str, str] = {}
        self._strategy: dict[str, Any] | None = None
        self._required: list[dict[str, Any]] = []
        self._preferred: list[dict[str, Any]] = []
        self._spread_over: list[str] = []
        self._spreads_services = False
        self._hard_weight = policy.hard_pod_affinity_symmetric_weight
        if policy.predicates is None:
            self._take_predicates([PredicatePolicy(name=name) for name in DEFAULT_PREDICATES])
        else:
            self._take_predicates(policy.predicates)
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
            self.filters.update(PREDICATES[name])
        for i, predicate in enumerate(predicates):
            path, argument = f"predicates[{i}]", predicate.argument
            if argument is not None and argument.labels_presence is not None:
                operator = "Exists" if argument.labels_presence.presence else "DoesNotExist"
                self._required += [
                    {"key": label, "operator": operator}
                    for label in argument.labels_presence.labels
                ]
                self.filters.add(AFFINITY)
            elif argument is not None and argument.service_affinity is not None:
                text = (
                    f"{predicate.name}: serviceAffinity has no equivalent: pods of a service are "
                    f"no longer kept to nodes alike in labels"
                )
                self.remarks.append(ConversionRemark(path, text))
            elif predicate.name in PREDICATES:
                self.filters.update(PREDICATES[predicate.name])
            else:
                self.faults.append(
                    Violation(
                        f"{path}.name",
                        predicate.name,
                        f"unknown predicate{suggest(predicate.name, PREDICATES)}",
                    )
                )

    # ---- priorities ------------------------------------------------------------------------------

    def _take_priorities(self, where: str, priorities: Sequence[PriorityPolicy]) -> None:
        """In the order of their names, as kube-scheduler took them."""
        for i, priority in sorted(enumerate(priorities), key=lambda pair: (pair[1].name, pair[0])):
            path = f"{where}[{i}]"
            if not 0 < priority.weight <= MAX_WEIGHT:
                self.faults.append(
                    Violation(
                        f"{path}.weight", priority.weight, "must be positive, and not too high"
                    )
                )
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
        argument = priority.argument
        if argument is None:
            return False
        if argument.requested_to_capacity_ratio_arguments is not None:
            if self._score(path, FIT, priority):
                self._strategy = argument.requested_to_capacity_ratio_arguments.strategy()
        elif argument.label_preference is not None:
            preference = argument.label_preference
            operator = "Exists" if preference.presence else "DoesNotExist"
            term = {"matchExpressions": [{"key": preference.label, "operator": operator}]}
            self._preferred.append({"weight": min(priority.weight, 100), "preference": term})
            self._score(path, AFFINITY, priority)
            text = f"labelPreference is a preferred term of {AFFINITY} now: nearly the same"
            self._remark(path, f"{priority.name}: {text}")
        elif argument.service_anti_affinity is not None:
            self._spread_over.append(argument.service_anti_affinity.label)
            self._score(path, SPREAD, priority)
            text = f"serviceAntiAffinity is a default constraint of {SPREAD} now: nearly the same"
            self._remark(path, f"{priority.name}: {text}")
        else:
            return False
        return True

    def _score(self, path: str, plugin: str, priority: PriorityPolicy) -> bool:
        """Whether this priority's weight is the plugin's: of several that one plugin stands for,
        the heaviest one's is.
        """
        before = self.scores.get(plugin)
        wins = before is None or priority.weight > before
        if before is not None:
            stays, goes = (
                (priority.name, self._reasons[plugin])
                if wins
                else (self._reasons[plugin], priority.name)
            )
            self.remarks.append(
                ConversionRemark(
                    path,
                    (
                        f"{plugin} stands for both {stays} and {goes} now: it has the weight of "
                        f"{stays}"
                    ),
                )
            )
        if wins:
            self.scores[plugin] = priority.weight
            self._reasons[plugin] = priority.name
        return wins

    # ---- what comes of it ------------------------------------------------------------------------

    def plugins(self) -> dict[str, Any]:
        """Those that are needed at all their points, less the points where they are not."""
        needed = [
            plugin
            for plugin in KUBE_PLUGINS.values()
            if plugin.name in self.filters | self.scores.keys() | set(_ALWAYS)
        ]
        enabled: list[dict[str, Any]] = [
            {"name": one.name, **_weight(self.scores.get(one.name))} for one in needed
        ]
        plugins: dict[str, Any] = {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}}
        for points, wanted in (
            (("preFilter", "filter"), self.filters),
            (("preScore", "score"), self.scores.keys()),
        ):
            for point in points:
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
        if SPREAD in self.scores and (constraints := self._constraints()) is not None:
            yield {
                "name": SPREAD,
                "args": {"defaultConstraints": constraints, "defaultingType": "List"},
            }
        if self._hard_weight > 1 and INTER_POD in self.filters | self.scores.keys():
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


def _weight(weight: int | None) -> dict[str, int]:
    return {} if weight is None else {"weight": weight}
