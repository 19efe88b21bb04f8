"""Record what a kube-apiserver answers to the cases: ``python -m
tests.conformance.recording.objects ASSETS``.

ASSETS is the folder with etcd, kube-apiserver and kubectl (tests/tools/assets.py). Written is
``recorded_objects.json`` beside the tests.
"""

from __future__ import annotations

import http.client
import json
import ssl
import sys
from pathlib import Path
from typing import Any, Final

from tests.rig.controlplanes import Rig
from tests.suites import ROOT
from towtank_tests.strategies.cases import CASES, Step
from towtank_tests.strategies.masking import masked

RECORDED: Final = ROOT / "packages" / "towtank" / "towtank_tests" / "recorded_objects.json"


def _ask(connection: http.client.HTTPSConnection, step: Step) -> list[Any]:
    method, path, body = step
    content_type = "application/merge-patch+json" if method == "MERGE" else "application/json"
    verb = "PATCH" if method == "MERGE" else method
    connection.request(
        verb,
        path,
        None if body is None else json.dumps(body).encode(),
        {"Content-Type": content_type},
    )
    response = connection.getresponse()
    return [response.status, masked(json.loads(response.read()))]


def main() -> None:
    """Start a control plane, ask, write."""
    with Rig(Path(sys.argv[1])) as rig:
        context = ssl.create_default_context(cafile=str(rig.folder / "ca.crt"))
        context.load_cert_chain(rig.folder / "admin.crt", rig.folder / "admin.key")
        connection = http.client.HTTPSConnection(
            rig.server.removeprefix("https://"), timeout=60, context=context
        )
        answers = {
            name: [_ask(connection, step) for step in steps] for name, steps in CASES.items()
        }
        connection.close()
    RECORDED.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
