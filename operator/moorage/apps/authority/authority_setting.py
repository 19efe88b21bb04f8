"""Setting the authority: into the webhooks first, so that every API server believes what is signed
by it when the leader finds it in the Secret.

Where there is no Secret it is made. What cert-manager or somebody else has put into it, without a
key, is only believed.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import datetime
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cryptography import x509

from moorage.adapters.admission_certificates import (
    AUTHORITY,
    AUTHORITY_KEY,
    AUTHORITY_LIFETIME,
    SecretData,
    SecretStore,
    StoredSecret,
    authorities,
    with_authority,
)
from moorage.apps.exit_status import ExitStatus, NoAnswer
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import connected, with_right
from moorage.ports.errors import EdgeError, NotFound
from moorage.ports.http_calls import HttpCall, HttpSession

VALIDATING: Final = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
MUTATING: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
"""That of component assign-webhook."""
RENEW_BEFORE: Final = AUTHORITY_LIFETIME / 3
"""An authority that ends so soon is no longer good."""
RIGHT: Final = "get, create and update secrets there, get and update webhooks"
_MANAGER: Final = "fieldManager=moorage-admission-ca"


class Installed(NamedTuple):
    """An installation, by its namespace and its name, which its Lease has too."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Where API servers reach it."""
        return (f"{self.name}-admission.{self.namespace}.svc",)

    @property
    def labels(self) -> dict[str, str]:
        """Of its objects."""
        prefix = "app.kubernetes.io"
        return {
            f"{prefix}/name": "moorage",
            f"{prefix}/instance": self.name,
            f"{prefix}/part-of": "moorage",
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Steps:
    """What was asked for."""

    renew: bool = False
    dry_run: bool = False


def run(cluster: ClusterChoice, place: Installed, steps: Steps) -> ExitStatus:
    """Do what is due, and say it. Raises NoAnswer."""
    return asyncio.run(_run(cluster, place, steps))


async def _run(cluster: ClusterChoice, place: Installed, steps: Steps) -> ExitStatus:
    async with connected(cluster) as connection:
        try:
            _, told = await authorized(connection.session, place, steps)
        except NotFound as error:
            first = "apply the component admission first: kubectl apply -k manifests/components"
            raise NoAnswer(f"{error}; {first}/admission") from error
        except EdgeError as error:
            raise NoAnswer(with_right(error, RIGHT)) from error
    for line in told:
        print(line)
    return ExitStatus.YES


async def authorized(
    session: HttpSession, place: Installed, steps: Steps, *, has_webhooks: bool = True
) -> tuple[bytes, list[str]]:
    """The authorities that API servers are to believe, from a Secret that has one now, and what was
    done. Webhooks may be missing where there are to be some later. Raises NoAnswer, NotFound,
    EdgeError.
    """
    store = SecretStore(session, place.namespace, f"{place.name}-admission-tls")
    secret = await _read(store)
    before: SecretData = secret.data if secret is not None else {}
    data = due(before, place, datetime.datetime.now(datetime.UTC), renew=steps.renew)
    told = []
    for path in (f"{VALIDATING}/{place.name}", f"{MUTATING}/{place.name}-assign"):
        needed = has_webhooks and path.startswith(VALIDATING)
        if await _have_believed(session, path, authorities(data), steps, needed=needed):
            told.append(_said(steps, f"{path.rpartition('v1/')[2]} believes the authority"))
    if data != before:
        told.append(_said(steps, f"{store} has an authority until {until(data):%F}"))
        if secret is None and not steps.dry_run:
            await store.create(place.labels, data)
        elif secret is not None and not steps.dry_run:
            await store.replace(secret.holding(data))
    elif not told:
        told.append(f"nothing to do: the authority is good until {until(data):%F}")
    return authorities(data), told


async def _read(store: SecretStore) -> StoredSecret | None:
    try:
        return await store.read()
    except NotFound:
        return None


async def _have_believed(
    session: HttpSession, path: str, bundle: bytes, steps: Steps, *, needed: bool
) -> bool:
    """Write the authorities into these webhooks; False where they are there. Raises NotFound where
    there are no webhooks that are ``needed``.
    """
    try:
        webhooks = json.loads(await session.call(HttpCall("GET", path)))
    except NotFound:
        if not needed:
            return False
        raise
    if (believing := believed(webhooks, bundle)) == webhooks:
        return False
    if not steps.dry_run:
        content = json.dumps(believing).encode()
        await session.call(HttpCall("PUT", f"{path}?{_MANAGER}", content))
    return True


def due(
    data: SecretData, place: Installed, now: datetime.datetime, *, renew: bool = False
) -> SecretData:
    """The data with another authority where there is none, it ends before long, or one is asked
    for; else the same. One without a key is somebody else's.
    """
    if data.get(AUTHORITY) and not data.get(AUTHORITY_KEY):
        return data
    if not renew and data.get(AUTHORITY) and until(data) - now > RENEW_BEFORE:
        return data
    return with_authority(data, place.hosts, now)


def until(data: SecretData) -> datetime.datetime:
    """Until when the authority is good. Raises NoAnswer where it is none."""
    try:
        return x509.load_pem_x509_certificate(data[AUTHORITY]).not_valid_after_utc
    except ValueError as error:
        text = f"{AUTHORITY} of the Secret is no certificate ({error}); --renew makes another one"
        raise NoAnswer(text) from error


def believed(webhooks: Mapping[str, Any], bundle: bytes) -> dict[str, Any]:
    """The configuration of webhooks, with this for their authorities."""
    encoded = base64.b64encode(bundle).decode()
    changed = [
        {**webhook, "clientConfig": {**webhook["clientConfig"], "caBundle": encoded}}
        for webhook in webhooks.get("webhooks") or ()
    ]
    return {**webhooks, "webhooks": changed}


def _said(steps: Steps, what: str) -> str:
    return f"{'would do: ' if steps.dry_run else ''}{what}"
