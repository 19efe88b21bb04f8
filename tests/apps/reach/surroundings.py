"""An API server that knows an installation of the operator, for tests of what looks for it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from tests.adapters.api_server import StubApiServer, answers

LEASES = "/apis/coordination.k8s.io/v1/namespaces/moorage-system/leases"
PROFILES = "/apis/moorage.dev/v1alpha1/schedulerprofiles"
LEADER = "moorage-0_77ab"


def a_time(seconds_ago: float = 0.0) -> str:
    """As a Lease has it."""
    at = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=seconds_ago)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def a_profile(name: str, claimed_by: str = "moorage-system/moorage", **status: Any) -> Any:
    """A profile that this installation serves."""
    return {"metadata": {"name": name}, "spec": {}, "status": {"claimedBy": claimed_by, **status}}


def a_lease(holder: str = LEADER, renewed: str = "", seconds: int = 15) -> dict[str, Any]:
    """The leader's."""
    times = {"acquireTime": a_time(3600), "renewTime": renewed or a_time()}
    spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds, **times}
    return {"metadata": {"name": "moorage"}, "spec": spec}


def a_replica(identity: str, annotations: Mapping[str, str]) -> dict[str, Any]:
    """Its own Lease."""
    return {
        "metadata": {"name": identity, "annotations": dict(annotations)},
        "spec": {"holderIdentity": identity, "renewTime": a_time()},
    }


def served_at(url: str, certificate: str, revisions: str = "{}") -> dict[str, str]:
    """What the Lease of a replica says that answers there."""
    return {
        "moorage.dev/revisions": revisions,
        "moorage.dev/serving": url,
        "moorage.dev/serving-certificate": certificate,
    }


def script(
    server: StubApiServer,
    lease: Mapping[str, Any],
    replicas: Sequence[Mapping[str, Any]],
    profiles: Sequence[Any] = (),
) -> None:
    """Have the API server know them."""
    server.then("GET", "/version", answers({}))
    server.then("GET", PROFILES, answers({"items": [*profiles]}))
    server.then("GET", LEASES, answers({"items": [*replicas]}))
    server.then("GET", f"{LEASES}/moorage", answers(lease))
