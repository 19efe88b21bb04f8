"""Scheduling, devices, leases, rights, admission, flows, aggregated services; and custom resources,
whose definitions say what is shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from towtank.model.api_errors import number
from towtank.model.kinds import Body, TableColumn
from towtank.tables import json_paths
from towtank.tables.ages import Age
from towtank.tables.cells import (
    NONE,
    UNSET,
    Cells,
    KindPrinter,
    columns,
    condition,
    created,
    deleted,
    name,
    name_and_age,
    selector_text,
    spec,
    status,
)


def _priority_class(body: Body, age: Age) -> Cells:
    return [
        name(body),
        body.get("value", 0),
        body.get("globalDefault", False),
        created(body, age),
        body.get("preemptionPolicy", ""),
    ]


def _pod_group(body: Body, age: Age) -> Cells:
    policy = (spec(body).get("schedulingPolicy") or {}).get("gang")
    scheduled = condition(body, "PodGroupInitiallyScheduled")
    state = "Pending" if scheduled is None else "Unschedulable"
    if scheduled == "True":
        state = "Scheduled"
    for said in status(body).get("conditions") or ():
        if said["type"] == "DisruptionTarget":
            state = said["reason"]
    return [
        name(body),
        "Basic" if policy is None else "Gang",
        (spec(body).get("workloadRef") or {}).get("workloadName", NONE),
        state,
        created(body, age),
    ]


def _taint_rule(body: Body, age: Age) -> Cells:
    taint = spec(body).get("taint") or {}
    added = taint.get("timeAdded")
    return [
        name(body),
        *(taint.get(field) or "" for field in ("key", "value", "effect")),
        age(added) if added else "",
        created(body, age),
    ]


def _lease(body: Body, age: Age) -> Cells:
    return [name(body), spec(body).get("holderIdentity") or "", created(body, age)]


def _runtime_class(body: Body, age: Age) -> Cells:
    return [name(body), body.get("handler", ""), created(body, age)]


def _network_policy(body: Body, age: Age) -> Cells:
    return [name(body), selector_text(spec(body).get("podSelector")) or NONE, created(body, age)]


def _claim(body: Body, age: Age) -> Cells:
    said = status(body)
    states = ["deleted"] if deleted(body) else []
    if said.get("allocation"):
        states += ["allocated", "reserved"] if said.get("reservedFor") else ["allocated"]
    elif not states:
        states = ["pending"]
    return [name(body), ",".join(states), created(body, age)]


def _slice(body: Body, age: Age) -> Cells:
    of = spec(body)
    return [
        name(body),
        of.get("nodeName") or "",
        of.get("driver", ""),
        (of.get("pool") or {}).get("name", ""),
        created(body, age),
    ]


def _binding(body: Body, age: Age) -> Cells:
    role, subjects = body.get("roleRef") or {}, body.get("subjects") or ()
    accounts = [
        f"{each.get('namespace', '')}/{each['name']}"
        for each in subjects
        if each["kind"] == "ServiceAccount"
    ]
    return [
        name(body),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        created(body, age),
        *(
            ", ".join(each["name"] for each in subjects if each["kind"] == kind)
            for kind in ("User", "Group")
        ),
        ", ".join(accounts),
    ]


def _api_service(body: Body, age: Age) -> Cells:
    service = spec(body).get("service")
    shown = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    return [name(body), shown, _available(body), created(body, age)]


def _available(body: Body) -> str:
    said = condition(body, "Available")
    if said is None:
        return "Unknown"
    reason = next(
        each.get("reason", "") for each in status(body)["conditions"] if each["type"] == "Available"
    )
    return said if said == "True" else f"{said} ({reason})"


def _webhooks(body: Body, age: Age) -> Cells:
    return [name(body), len(body.get("webhooks") or ()), created(body, age)]


def _policy(body: Body, age: Age) -> Cells:
    kind = spec(body).get("paramKind") or {}
    shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
    return [name(body), len(spec(body).get("mutations") or ()), shown, created(body, age)]


def _policy_binding(body: Body, age: Age) -> Cells:
    params = spec(body).get("paramRef") or {}
    shown = UNSET
    if params.get("name"):
        shown = f"{params.get('namespace') or '*'}/{params['name']}"
    elif params.get("selector") is not None:
        shown = selector_text(params["selector"])
    return [name(body), spec(body).get("policyName", ""), shown, created(body, age)]


def _flow_schema(body: Body, age: Age) -> Cells:
    of = spec(body)
    return [
        name(body),
        (of.get("priorityLevelConfiguration") or {}).get("name", ""),
        of.get("matchingPrecedence", 0),
        (of.get("distinguisherMethod") or {}).get("type", NONE),
        created(body, age),
        condition(body, "Dangling") or "?",
    ]


def _priority_level(body: Body, age: Age) -> Cells:
    limited = spec(body).get("limited") or {}
    queuing = (limited.get("limitResponse") or {}).get("queuing") or {}
    return [
        name(body),
        spec(body).get("type", ""),
        limited.get("nominalConcurrencyShares", NONE),
        *(queuing.get(field, NONE) for field in ("queues", "handSize", "queueLengthLimit")),
        created(body, age),
    ]


def _created_at(body: Body, _: Age) -> Cells:
    return [name(body), body["metadata"].get("creationTimestamp", "0001-01-01T00:00:00Z")]


def _definition(body: Body, age: Age) -> Cells:
    of = spec(body)
    named = of.get("names") or {}
    versions = sorted(
        f"{version['name']}{'(storage)' if version.get('storage') else ''}"
        for version in of.get("versions") or ()
        if version.get("served")
    )
    shown, created_at = _created_at(body, age)
    short = ",".join(named.get("shortNames") or ())
    established = condition(body, "Established") == "True"
    return [
        *(shown, of.get("scope", ""), ",".join(versions), created_at),
        *(of.get("group", ""), named.get("kind", ""), short, established),
    ]


OTHER = KindPrinter(columns("Name, Created At:date"), _created_at)
"""Of kinds that have no table of their own, roles among them."""
_NAMED = KindPrinter(columns("Name, Age"), name_and_age)
_BINDINGS = KindPrinter(columns("Name, Role, Age, Users*, Groups*, ServiceAccounts*"), _binding)
_WEBHOOKS = KindPrinter(columns("Name, Webhooks:integer, Age"), _webhooks)
OTHERS = {
    "customresourcedefinitions.apiextensions.k8s.io": KindPrinter(
        columns(
            "Name, Scope, Versions, Created At:date, Group*, Kind*, ShortNames*, "
            "Established:boolean*"
        ),
        _definition,
    ),
    "priorityclasses.scheduling.k8s.io": KindPrinter(
        columns("Name, Value:integer, Global-Default:boolean, Age, PreemptionPolicy"),
        _priority_class,
    ),
    "podgroups.scheduling.k8s.io": KindPrinter(
        columns("Name, Policy, Workload, Status, Age"), _pod_group
    ),
    "workloads.scheduling.k8s.io": _NAMED,
    "leases.coordination.k8s.io": KindPrinter(columns("Name, Holder, Age"), _lease),
    "runtimeclasses.node.k8s.io": KindPrinter(columns("Name, Handler, Age"), _runtime_class),
    "networkpolicies.networking.k8s.io": KindPrinter(
        columns("Name, Pod-Selector, Age"), _network_policy
    ),
    "deviceclasses.resource.k8s.io": _NAMED,
    "devicetaintrules.resource.k8s.io": KindPrinter(
        columns("Name, Key, Value, Effect, TimeAdded, Age"), _taint_rule
    ),
    "resourceclaimtemplates.resource.k8s.io": _NAMED,
    "resourceclaims.resource.k8s.io": KindPrinter(columns("Name, State, Age"), _claim),
    "resourceslices.resource.k8s.io": KindPrinter(columns("Name, Node, Driver, Pool, Age"), _slice),
    "rolebindings.rbac.authorization.k8s.io": _BINDINGS,
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDINGS,
    "apiservices.apiregistration.k8s.io": KindPrinter(
        columns("Name, Service, Available, Age"), _api_service
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": KindPrinter(
        columns("Name, Mutations:integer, ParamKind, Age"), _policy
    ),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": KindPrinter(
        columns("Name, PolicyName, ParamRef, Age"), _policy_binding
    ),
    "flowschemas.flowcontrol.apiserver.k8s.io": KindPrinter(
        columns("Name, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL"),
        _flow_schema,
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": KindPrinter(
        columns("Name, Type, NominalConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age"),
        _priority_level,
    ),
}

# ---- custom resources ----------------------------------------------------------------------------

_AGE = TableColumn("Age", "date", description="Age", json_path=".metadata.creationTimestamp")


def custom(given: Sequence[TableColumn]) -> KindPrinter:
    """The table of a custom resource; its age where its definition names no columns."""
    shown = given or (_AGE,)
    readers = [(json_paths.parse(column.json_path), _CONVERSIONS[column.type]) for column in shown]

    def cells(body: Body, age: Age) -> Cells:
        return [
            name(body),
            *(
                next((convert(value, age) for value in read(body)), None)
                for read, convert in readers
            ),
        ]

    return KindPrinter((*columns("Name"), *shown), cells)


def _text(value: Any, _: Age) -> str:
    """As Go prints values; of null it says so."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, float):
        return number(value)
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _integer(value: Any, _: Age) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any, _: Age) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean(value: Any, _: Age) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: Any, age: Age) -> str | None:
    return age(value) if isinstance(value, str) else None


_CONVERSIONS: Mapping[str, Callable[[Any, Age], Any]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
