"""The way from an API server to a process that reviews for it: nothing here routes to Services."""

from __future__ import annotations

import json

from tests.rig.controlplanes import Rig
from tests.rig.objects import create


def lead_to(rig: Rig, port: int) -> None:
    """Have the component admission's Service lead to this port. The name that the API server
    expects in the certificate stays.
    """
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "moorage-admission", "namespace": "moorage-system"},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    rig.kubectl("-n", "moorage-system", "delete", "service", "moorage-admission")
    create(rig, service)
    place = "/webhooks/{}/clientConfig/service/port"
    moves = [{"op": "replace", "path": place.format(i), "value": port} for i in (0, 1)]
    name = "validatingwebhookconfiguration/moorage"
    rig.kubectl("patch", name, "--type=json", "-p", json.dumps(moves))
