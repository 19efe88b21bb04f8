"""Whether webhooks answer the API server: until they do, no profile could be changed."""

from __future__ import annotations

from typing import Final

from moorage.apps.install.applying import InstallationFailed
from moorage.apps.install.cluster_objects import ClusterObjects
from moorage.apps.install.object_keys import INSTANCE, Document
from moorage.apps.install.variants import Options
from moorage.ports.clock import Clock
from moorage.ports.errors import Refused, Retryable

SECONDS: Final = 40.0
"""Four looks of a replica at the Secret."""
_POLL_SECONDS: Final = 1.0
_VALIDATING: Final = "ValidatingWebhookConfiguration"


async def answered(
    objects: ClusterObjects, clock: Clock, webhook: Document, options: Options
) -> None:
    """Once a profile can be created, by a dry run. Pods are created where nobody answers, too, so
    nothing is tried of a webhook for these. Raises InstallationFailed, EdgeError.
    """
    if webhook["kind"] != _VALIDATING:
        return
    probe = _probe(options.controller_of(webhook["metadata"]["labels"][INSTANCE]))
    last = clock.boottime() + SECONDS
    while True:
        try:
            await objects.apply(probe, dry_run=True)
            return
        except Refused:
            return  # it has answered
        except Retryable as error:
            if clock.boottime() >= last:
                raise _unanswered(webhook["metadata"]["name"], error) from error
            await clock.sleep(_POLL_SECONDS)


def _probe(controller: str) -> Document:
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": "moorage-install-probe"},
        "spec": {"controllerName": controller},
    }


def _unanswered(name: str, error: Retryable) -> InstallationFailed:
    return InstallationFailed(
        f"the webhook does not answer after {SECONDS:.0f} s: {error}; until it does, no profile "
        f"can be changed. The way out: kubectl delete validatingwebhookconfiguration {name}"
    )
