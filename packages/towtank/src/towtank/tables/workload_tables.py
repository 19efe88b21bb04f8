"""Controllers of pods, and what goes with them."""

from __future__ import annotations

from towtank.model.kinds import Body
from towtank.tables.ages import Age, human, moment
from towtank.tables.cells import (
    NONE,
    UNSET,
    Cells,
    KindPrinter,
    columns,
    condition,
    containers,
    created,
    deleted,
    label_text,
    name,
    selector_text,
    spec,
    status,
)


def _containers(body: Body) -> tuple[str, str]:
    return containers((spec(body).get("template") or {}).get("spec") or {})


def _selector(body: Body) -> str:
    return selector_text(spec(body).get("selector")) or NONE


def _counts(body: Body) -> Cells:
    return [
        spec(body).get("replicas", 0),
        status(body).get("replicas", 0),
        status(body).get("readyReplicas", 0),
    ]


def _replica_set(body: Body, age: Age) -> Cells:
    return [name(body), *_counts(body), created(body, age), *_containers(body), _selector(body)]


def _replication_controller(body: Body, age: Age) -> Cells:
    return [
        name(body),
        *_counts(body),
        created(body, age),
        *_containers(body),
        label_text(spec(body).get("selector")),
    ]


def _ready(body: Body) -> str:
    return f"{status(body).get('readyReplicas', 0)}/{spec(body).get('replicas', 0)}"


def _deployment(body: Body, age: Age) -> Cells:
    said = status(body)
    counts = [said.get("updatedReplicas", 0), said.get("availableReplicas", 0)]
    return [
        name(body),
        _ready(body),
        *counts,
        created(body, age),
        *_containers(body),
        selector_text(spec(body).get("selector")),
    ]


def _stateful_set(body: Body, age: Age) -> Cells:
    return [name(body), _ready(body), created(body, age), *_containers(body)]


_DAEMONS = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


def _daemon_set(body: Body, age: Age) -> Cells:
    pod_spec = (spec(body).get("template") or {}).get("spec") or {}
    return [
        name(body),
        *(status(body).get(count, 0) for count in _DAEMONS),
        label_text(pod_spec.get("nodeSelector")),
        created(body, age),
        *_containers(body),
        _selector(body),
    ]


def _job(body: Body, age: Age) -> Cells:
    return [
        name(body),
        _job_status(body),
        _completions(body),
        _took(body, age),
        created(body, age),
        *_containers(body),
        _selector(body),
    ]


def _job_status(body: Body) -> str:
    for kind in ("Complete", "Failed"):
        if condition(body, kind) == "True":
            return kind
    if deleted(body):
        return "Terminating"
    waiting = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((kind for kind in waiting if condition(body, kind) == "True"), "Running")


def _completions(body: Body) -> str:
    succeeded, wanted, parallel = (
        status(body).get("succeeded", 0),
        spec(body).get("completions"),
        spec(body).get("parallelism", 0),
    )
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    return f"{succeeded}/1 of {parallel}" if parallel > 1 else f"{succeeded}/1"


def _took(body: Body, age: Age) -> str:
    """How long a job ran, or has been running so far."""
    began, ended = status(body).get("startTime"), status(body).get("completionTime")
    if not began:
        return ""
    first, last = moment(began), moment(ended or "")
    return human(last - first) if first and last else age(began)


def _cron_job(body: Body, age: Age) -> Cells:
    of, last = spec(body), status(body).get("lastScheduleTime")
    job = (of.get("jobTemplate") or {}).get("spec") or {}
    return [
        name(body),
        of.get("schedule", ""),
        of.get("timeZone") or NONE,
        str(of.get("suspend", UNSET)),
        len(status(body).get("active") or ()),
        age(last) if last else NONE,
        created(body, age),
        *containers((job.get("template") or {}).get("spec") or {}),
        selector_text(job.get("selector")) or NONE,
    ]


def _revision(body: Body, age: Age) -> Cells:
    owner = next(
        (each for each in body["metadata"].get("ownerReferences") or () if each.get("controller")),
        None,
    )
    shown = NONE
    if owner:
        group = owner["apiVersion"].rpartition("/")[0]
        shown = (
            ".".join(part for part in (owner["kind"].lower(), group.lower()) if part)
            + f"/{owner['name']}"
        )
    return [name(body), shown, body.get("revision", 0), created(body, age)]


def _budget(body: Body, age: Age) -> Cells:
    limits = [str(spec(body).get(limit, "N/A")) for limit in ("minAvailable", "maxUnavailable")]
    return [name(body), *limits, status(body).get("disruptionsAllowed", 0), created(body, age)]


_REPLICAS = columns(
    "Name, Desired:integer, Current:integer, Ready:integer, Age, Containers*, Images*, Selector*"
)
WORKLOADS = {
    "replicationcontrollers": KindPrinter(_REPLICAS, _replication_controller),
    "replicasets.apps": KindPrinter(_REPLICAS, _replica_set),
    "deployments.apps": KindPrinter(
        columns("Name, Ready, Up-to-date, Available, Age, Containers*, Images*, Selector*"),
        _deployment,
    ),
    "statefulsets.apps": KindPrinter(
        columns("Name, Ready, Age, Containers*, Images*"), _stateful_set
    ),
    "daemonsets.apps": KindPrinter(
        columns(
            "Name, Desired:integer, Current:integer, Ready:integer, Up-to-date:integer, "
            "Available:integer, Node Selector, Age, "
            "Containers*, Images*, Selector*"
        ),
        _daemon_set,
    ),
    "controllerrevisions.apps": KindPrinter(columns("Name, Controller, Revision, Age"), _revision),
    "jobs.batch": KindPrinter(
        columns("Name, Status, Completions, Duration, Age, Containers*, Images*, Selector*"), _job
    ),
    "cronjobs.batch": KindPrinter(
        columns(
            (
                "Name, Schedule, Timezone, Suspend:boolean, Active:integer, Last Schedule, Age, "
                "Containers*, Images*, Selector*"
            ),
        ),
        _cron_job,
    ),
    "poddisruptionbudgets.policy": KindPrinter(
        columns("Name, Min Available, Max Unavailable, Allowed Disruptions:integer, Age"),
        _budget,
    ),
}
