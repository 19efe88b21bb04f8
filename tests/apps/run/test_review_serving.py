"""What admission is called in the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.operator_config import OperatorConfiguration
from moorage.apps.run.review_serving import AdmissionNames, names_of

LEASE = {"leaderElection": {"resourceName": "own", "resourceNamespace": "leases"}}


@pytest.mark.parametrize(
    ("admission", "names"),
    [
        ({}, AdmissionNames("leases", "own-admission-tls", "own-admission.leases.svc")),
        (
            {"namespace": "home"},
            AdmissionNames("home", "own-admission-tls", "own-admission.home.svc"),
        ),
        (
            {"namespace": "home", "secretName": "secret", "serviceName": "service"},
            AdmissionNames("home", "secret", "service.home.svc"),
        ),
    ],
)
def test_names(admission: dict[str, Any], names: AdmissionNames) -> None:
    """They follow from the Lease's, but for those that are configured."""
    config = OperatorConfiguration.model_validate({**LEASE, "admission": admission})
    assert names_of(config) == names
