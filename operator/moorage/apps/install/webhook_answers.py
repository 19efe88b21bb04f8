"""Whether webhooks answer the API server: until they do, no profile could be changed."""

from __future__ import annotations

from typing import Final, Protocol

from moorage.apps.install import named_webhooks
from moorage.apps.install.applying import InstallationFailed
from moorage.apps.install.object_keys import INSTANCE, Document
from moorage.apps.install.variants import Options
from moorage.ports.clock import Clock
from moorage.ports.errors import Refused, Retryable

SECONDS: Final = 40.0
"""Four looks of a replica at the Secret."""
_POLL_SECONDS: Final = 1.0
_VALIDATING: Final = "ValidatingWebhookConfiguration"


class TriedObjects(Protocol):
    """``ClusterObjects``, as far as is needed here."""

    async def apply(self, document: Document, *, dry_run: bool) -> Document: ...


async def answered(objects: TriedObjects, clock: Clock, webhook: Document, options: Options) -> str:
    """Once a profile can be created, by a dry run; why that is not known where somebody else says
    no, else "". Pods are created where nobody answers, too, so nothing is tried of a webhook for
    these. Raises InstallationFailed, and EdgeError where it is not this webhook that fails.
    """
    if webhook["kind"] != _VALIDATING:
        return ""
    probe = _probe(options.controller_of(webhook["metadata"]["labels"][INSTANCE]))
    last = clock.boottime() + SECONDS
    while True:
        try:
            await objects.apply(probe, dry_run=True)
            return ""
        except Refused as error:
            return _not_known(webhook, error)
        except Retryable as error:
            if clock.boottime() >= last:
                if not named_webhooks.unanswered(str(error), [webhook]):
                    raise
                raise _unanswered(webhook["metadata"]["name"], error) from error
            await clock.sleep(_POLL_SECONDS)


def _probe(controller: str) -> Document:
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": "moorage-install-probe"},
        "spec": {"controllerName": controller},
    }


def _not_known(webhook: Document, error: Refused) -> str:
    """What keeps us from knowing, "" where it is the webhook that said no."""
    if named_webhooks.denied(error.message, [webhook]):
        return ""
    return f"whether the webhook answers is not known: {error.message}"


def _unanswered(name: str, error: Retryable) -> InstallationFailed:
    return InstallationFailed(
        f"the webhook does not answer after {SECONDS:.0f} s: {error}; until it does, no profile "
        f"can be changed. The way out: kubectl delete validatingwebhookconfiguration {name}"
    )
