"""Rules of what a pod says about where it wants to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kubefacts import names
from towtank.model import metadata_rules
from towtank.model.api_errors import StatusCause
from towtank.model.kinds import Body
from towtank.strategies.common import indexed, invalid, named, one_of, unique

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NODE_OPERATORS: Final = ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn")
_OTHERWISE: Final = ("DoNotSchedule", "ScheduleAnyway")
_WEIGHTS: Final = range(1, 101)
_MATCHES_ALL: Final = (
    'operator must be Exists when `key` is empty, which means "match all values and all keys"'
)
_NOT_FOR_A_TIME: Final = "effect must be 'NoExecute' when `tolerationSeconds` is set"
_NO_VALUE: Final = "value must be empty when `operator` is 'Exists'"
_NO_KEY: Final = "can not be empty"
_NOT_POSITIVE: Final = "must be greater than zero"


def causes(spec: Body, path: str) -> Iterator[StatusCause]:
    """All of one pod's."""
    yield from metadata_rules.label_causes(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    yield from _affinity_causes(spec.get("affinity") or {}, f"{path}.affinity")
    yield from _gate_causes(spec, path)
    yield from _spread_causes(
        spec.get("topologySpreadConstraints") or (), f"{path}.topologySpreadConstraints"
    )
    for toleration, where in indexed(spec.get("tolerations"), f"{path}.tolerations"):
        yield from _toleration_causes(toleration, where)


def _gate_causes(spec: Body, path: str) -> Iterator[StatusCause]:
    gates = [
        (gate.get("name", ""), where)
        for gate, where in indexed(spec.get("schedulingGates"), f"{path}.schedulingGates")
    ]
    for name, where in gates:
        yield from invalid(where, name, names.qualified_name(name))
    yield from unique(gates)
    if gates and spec.get("nodeName"):
        yield StatusCause.forbidden(
            f"{path}.nodeName", "cannot be set until all schedulingGates have been cleared"
        )


def _toleration_causes(toleration: Body, path: str) -> Iterator[StatusCause]:
    key, operator, value, effect = (
        toleration.get(name) or "" for name in ("key", "operator", "value", "effect")
    )
    if key:
        yield from invalid(f"{path}.key", key, names.qualified_name(key))
    elif operator != "Exists":
        yield StatusCause.invalid(f"{path}.operator", operator, _MATCHES_ALL)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield StatusCause.invalid(f"{path}.effect", effect, _NOT_FOR_A_TIME)
    if operator == "Exists" and value:
        yield StatusCause.invalid(f"{path}.operator", value, _NO_VALUE)
    elif operator in {"", "Equal"}:
        yield from invalid(f"{path}.operator", value, names.label_value(value))
    yield from one_of(operator or None, ("Equal", "Exists"), f"{path}.operator")
    yield from one_of(effect or None, _EFFECTS, f"{path}.effect")


def _spread_causes(constraints: Sequence[Body], path: str) -> Iterator[StatusCause]:
    pairs = [
        f"{{{one.get('topologyKey', '')}, {one.get('whenUnsatisfiable', '')}}}"
        for one in constraints
    ]
    for index, (constraint, where) in enumerate(indexed(constraints, path)):
        if (skew := constraint.get("maxSkew") or 0) <= 0:
            yield StatusCause.invalid(f"{where}.maxSkew", skew, _NOT_POSITIVE)
        key, otherwise = constraint.get("topologyKey"), constraint.get("whenUnsatisfiable")
        yield from named(key, f"{where}.topologyKey", names.qualified_name, _NO_KEY)
        yield from one_of(otherwise or "", _OTHERWISE, f"{where}.whenUnsatisfiable")
        if pairs[index] in pairs[index + 1 :]:
            yield StatusCause.duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", pairs[index])
        if (domains := constraint.get("minDomains")) is not None:
            yield from _domain_causes(domains, otherwise, f"{where}.minDomains")


def _domain_causes(domains: int, otherwise: str, field: str) -> Iterator[StatusCause]:
    if domains <= 0:
        yield StatusCause.invalid(field, domains, _NOT_POSITIVE)
    if otherwise != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {otherwise}"
        yield StatusCause.invalid(field, domains, text)


def _affinity_causes(affinity: Body, path: str) -> Iterator[StatusCause]:
    nodes, where = affinity.get("nodeAffinity") or {}, f"{path}.nodeAffinity"
    if (required := nodes.get(_REQUIRED)) is not None:
        yield from node_selector_causes(required, f"{where}.{_REQUIRED}")
    for term, at_term in indexed(nodes.get(_PREFERRED), f"{where}.{_PREFERRED}"):
        yield from _weight_causes(term, at_term)
        yield from _expression_causes(term.get("preference") or {}, f"{at_term}.preference")
    for kind in ("podAffinity", "podAntiAffinity"):
        pods, where = affinity.get(kind) or {}, f"{path}.{kind}"
        for term, at_term in indexed(pods.get(_REQUIRED), f"{where}.{_REQUIRED}"):
            yield from _topology_causes(term, at_term)
        for term, at_term in indexed(pods.get(_PREFERRED), f"{where}.{_PREFERRED}"):
            yield from _weight_causes(term, at_term)
            yield from _topology_causes(
                term.get("podAffinityTerm") or {}, f"{at_term}.podAffinityTerm"
            )


def _weight_causes(term: Body, path: str) -> Iterator[StatusCause]:
    if term.get("weight") not in _WEIGHTS:
        yield StatusCause.invalid(
            f"{path}.weight", term.get("weight") or 0, "must be in the range 1-100"
        )


def _topology_causes(term: Body, path: str) -> Iterator[StatusCause]:
    key = term.get("topologyKey") or ""
    if not key:
        yield StatusCause.required(f"{path}.topologyKey", _NO_KEY)
    yield from invalid(f"{path}.topologyKey", key, names.qualified_name(key))


def node_selector_causes(selector: Body, path: str) -> Iterator[StatusCause]:
    """Of a NodeSelector, which volumes have too."""
    if not selector.get("nodeSelectorTerms"):
        yield StatusCause.required(
            f"{path}.nodeSelectorTerms", "must have at least one node selector term"
        )
    for term, where in indexed(selector.get("nodeSelectorTerms"), f"{path}.nodeSelectorTerms"):
        yield from _expression_causes(term, where)


def _expression_causes(term: Body, path: str) -> Iterator[StatusCause]:
    for expression, where in indexed(term.get("matchExpressions"), f"{path}.matchExpressions"):
        key, operator = (expression.get(name) or "" for name in ("key", "operator"))
        if operator not in _NODE_OPERATORS:
            yield StatusCause.invalid(
                f"{where}.operator", operator, "not a valid selector operator"
            )
        else:
            yield from _count_causes(
                operator, len(expression.get("values") or ()), f"{where}.values"
            )
        yield from invalid(f"{where}.key", key, names.qualified_name(key))


def _count_causes(operator: str, count: int, field: str) -> Iterator[StatusCause]:
    if operator in {"In", "NotIn"} and not count:
        text = "must be specified when `operator` is 'In' or 'NotIn'"
        yield StatusCause.required(field, text)
    elif operator in {"Exists", "DoesNotExist"} and count:
        text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield StatusCause.forbidden(field, text)
    elif operator in {"Gt", "Lt"} and count != 1:
        text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        yield StatusCause.required(field, text)
