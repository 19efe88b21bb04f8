"""Rules of what a pod says about where it wants to be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubefacts import names
from towtank.model import metadata_rules
from towtank.model.api_errors import StatusCause
from towtank.model.kinds import Body
from towtank.strategies.common import at, invalid, one_of, unique

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NODE_OPERATORS: Final = ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn")
_WEIGHTS: Final = range(1, 101)
_MATCHES_ALL: Final = (
    'operator must be Exists when `key` is empty, which means "match all values and all keys"'
)


def causes(spec: Body, path: str) -> Iterator[StatusCause]:
    """All of one pod's."""
    yield from metadata_rules.label_causes(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    yield from _affinity_causes(spec.get("affinity") or {}, f"{path}.affinity")
    yield from _gate_causes(spec, path)
    yield from _spread_causes(spec, f"{path}.topologySpreadConstraints")
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _toleration_causes(toleration, f"{path}.tolerations[{index}]")


def _gate_causes(spec: Body, path: str) -> Iterator[StatusCause]:
    gates = spec.get("schedulingGates") or ()
    for index, gate in enumerate(gates):
        yield from invalid(
            f"{path}.schedulingGates[{index}]",
            gate.get("name", ""),
            names.qualified_name(gate.get("name", "")),
        )
    yield from unique(
        gates, lambda gate: gate.get("name"), lambda index: f"{path}.schedulingGates[{index}]"
    )
    if gates and spec.get("nodeName"):
        yield StatusCause.forbidden(
            f"{path}.nodeName", "cannot be set until all schedulingGates have been cleared"
        )


def _toleration_causes(toleration: Body, path: str) -> Iterator[StatusCause]:
    key, operator, value = (toleration.get(name) or "" for name in ("key", "operator", "value"))
    effect, seconds = toleration.get("effect") or "", toleration.get("tolerationSeconds")
    if key:
        yield from invalid(f"{path}.key", key, names.qualified_name(key))
    elif operator != "Exists":
        yield StatusCause.invalid(f"{path}.operator", operator, _MATCHES_ALL)
    if seconds is not None and effect != "NoExecute":
        yield StatusCause.invalid(
            f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"
        )
    if operator == "Exists" and value:
        yield StatusCause.invalid(
            f"{path}.operator", value, "value must be empty when `operator` is 'Exists'"
        )
    elif operator in {"", "Equal"}:
        yield from invalid(f"{path}.operator", value, names.label_value(value))
    yield from one_of(operator or None, ("Equal", "Exists"), f"{path}.operator")
    yield from one_of(effect or None, _EFFECTS, f"{path}.effect")


def _spread_causes(spec: Body, path: str) -> Iterator[StatusCause]:
    constraints = spec.get("topologySpreadConstraints") or ()
    pairs = [
        f"{{{one.get('topologyKey', '')}, {one.get('whenUnsatisfiable', '')}}}"
        for one in constraints
    ]
    for index, constraint in enumerate(constraints):
        where, otherwise = f"{path}[{index}]", constraint.get("whenUnsatisfiable")
        if (skew := constraint.get("maxSkew") or 0) <= 0:
            yield StatusCause.invalid(f"{where}.maxSkew", skew, "must be greater than zero")
        if not constraint.get("topologyKey"):
            yield StatusCause.required(f"{where}.topologyKey", "can not be empty")
        else:
            yield from invalid(
                f"{where}.topologyKey",
                constraint["topologyKey"],
                names.qualified_name(constraint["topologyKey"]),
            )
        yield from one_of(
            otherwise or "", ("DoNotSchedule", "ScheduleAnyway"), f"{where}.whenUnsatisfiable"
        )
        if pairs[index] in pairs[index + 1 :]:
            yield StatusCause.duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", pairs[index])
        if (domains := constraint.get("minDomains")) is not None:
            if domains <= 0:
                yield StatusCause.invalid(
                    f"{where}.minDomains", domains, "must be greater than zero"
                )
            if otherwise != "DoNotSchedule":
                text = (
                    f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {otherwise}"
                )
                yield StatusCause.invalid(f"{where}.minDomains", domains, text)


def _affinity_causes(affinity: Body, path: str) -> Iterator[StatusCause]:
    if (nodes := affinity.get("nodeAffinity")) is not None:
        required = nodes.get(_REQUIRED)
        if required is not None:
            yield from node_selector_causes(required, f"{path}.nodeAffinity.{_REQUIRED}")
        for index, term in enumerate(nodes.get(_PREFERRED) or ()):
            where = f"{path}.nodeAffinity.{_PREFERRED}[{index}]"
            yield from _weight_causes(term, where)
            yield from _expression_causes(term.get("preference") or {}, f"{where}.preference")
    for kind in ("podAffinity", "podAntiAffinity"):
        for index, term in enumerate(at(affinity, f"{kind}.{_REQUIRED}") or ()):
            yield from _topology_causes(term, f"{path}.{kind}.{_REQUIRED}[{index}]")
        for index, term in enumerate(at(affinity, f"{kind}.{_PREFERRED}") or ()):
            where = f"{path}.{kind}.{_PREFERRED}[{index}]"
            yield from _weight_causes(term, where)
            yield from _topology_causes(
                term.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm"
            )


def _weight_causes(term: Body, path: str) -> Iterator[StatusCause]:
    if term.get("weight") not in _WEIGHTS:
        yield StatusCause.invalid(
            f"{path}.weight", term.get("weight") or 0, "must be in the range 1-100"
        )


def _topology_causes(term: Body, path: str) -> Iterator[StatusCause]:
    key = term.get("topologyKey") or ""
    if not key:
        yield StatusCause.required(f"{path}.topologyKey", "can not be empty")
    yield from invalid(f"{path}.topologyKey", key, names.qualified_name(key))


def node_selector_causes(selector: Body, path: str) -> Iterator[StatusCause]:
    """Of a NodeSelector, which volumes have too."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield StatusCause.required(
            f"{path}.nodeSelectorTerms", "must have at least one node selector term"
        )
    for index, term in enumerate(terms):
        yield from _expression_causes(term, f"{path}.nodeSelectorTerms[{index}]")


def _expression_causes(term: Body, path: str) -> Iterator[StatusCause]:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        where, operator, values = (
            f"{path}.matchExpressions[{index}]",
            expression.get("operator"),
            expression.get("values") or (),
        )
        if operator in {"In", "NotIn"} and not values:
            yield StatusCause.required(
                f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'"
            )
        elif operator in {"Exists", "DoesNotExist"} and values:
            yield StatusCause.forbidden(
                f"{where}.values",
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )
        elif operator in {"Gt", "Lt"} and len(values) != 1:
            yield StatusCause.required(
                f"{where}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'"
            )
        elif operator not in _NODE_OPERATORS:
            yield StatusCause.invalid(
                f"{where}.operator", operator or "", "not a valid selector operator"
            )
        yield from invalid(
            f"{where}.key",
            expression.get("key") or "",
            names.qualified_name(expression.get("key") or ""),
        )
