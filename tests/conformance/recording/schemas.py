"""Record what a kube-apiserver says to the cases: ``python -m
tests.conformance.recording.schemas``.

Written is ``recorded.json`` beside the tests: of each object the causes of its refusal, or what
became of it and which of its fields were unknown.
"""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Final

from tests.rig import Rig
from tests.rig.clients import Client
from tests.tools import assets
from towtank_tests.schemas.cases import (
    BUILT_IN,
    DEFINITION,
    GROUP,
    RECORDED,
    SEVERAL,
    SPECS,
    Body,
    custom,
)

_PATH: Final = f"/apis/{GROUP}/v1/shapes"


class _Asked:
    """A control plane that is asked what it would do."""

    def __init__(self, rig: Rig) -> None:
        context = ssl.create_default_context(cafile=str(rig.folder / "ca.crt"))
        context.load_cert_chain(rig.folder / "admin.crt", rig.folder / "admin.key")
        self._connection = http.client.HTTPSConnection(
            rig.server.removeprefix("https://"), timeout=60, context=context
        )

    def post(self, path: str, body: Body) -> tuple[int, Body, list[str]]:
        """The code, the body and the warnings of the answer."""
        self._connection.request(
            "POST",
            f"{path}?dryRun=All",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        return response.status, answer, response.headers.get_all("Warning") or []

    def custom(self, body: Body) -> Body:
        """What becomes of an object of the custom resource."""
        code, answer, warnings = self.post(_PATH, custom(body))
        if code == http.client.CREATED:
            kept = {
                name: value
                for name, value in answer.items()
                if name not in ("apiVersion", "kind", "metadata")
            }
            return {"kept": kept, "unknown": _unknown(warnings)}
        if code == http.client.UNPROCESSABLE_ENTITY:
            return {
                "causes": [
                    [cause["reason"], cause["field"], cause["message"]]
                    for cause in answer["details"]["causes"]
                ]
            }
        return {"code": code, "message": answer["message"]}

    def built_in(self, path: str, body: Body) -> Body:
        """What is said of an object while it is decoded: fields that are unknown, or why it cannot
        be.
        """
        code, answer, warnings = self.post(
            path, {**body, "metadata": {"name": "a", **body.get("metadata", {})}}
        )
        refused = {"message": answer["message"]} if code == http.client.BAD_REQUEST else {}
        return {**refused, "unknown": _unknown(warnings)}


def _unknown(warnings: list[str]) -> list[str]:
    """The fields that Warning headers name."""
    texts = [text.partition('"')[2].removesuffix('"').replace('\\"', '"') for text in warnings]
    return [
        text.partition('"')[2].removesuffix('"')
        for text in texts
        if text.startswith("unknown field")
    ]


def main() -> None:
    """Start a control plane, ask, write."""
    with Rig(assets.ensure()) as rig:
        client = Client(rig)
        client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
        rig.establish(f"shapes.{GROUP}")
        asked = _Asked(rig)
        answers = {
            "specs": {
                name: [asked.custom({"spec": {name: value}}) for value in values]
                for name, values in SPECS.items()
            },
            "several": {name: asked.custom(body) for name, body in SEVERAL.items()},
            "built in": {name: asked.built_in(*case) for name, case in BUILT_IN.items()},
        }
        client.close()
    RECORDED.write_text(json.dumps(answers, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
