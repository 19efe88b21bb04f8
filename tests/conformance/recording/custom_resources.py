"""Record what a kube-apiserver says to the cases: ``python -m
tests.conformance.recording.custom_resources ASSETS``.

ASSETS is the folder with etcd, kube-apiserver and kubectl (tests/tools/assets.py). Written is
``recorded_custom.json`` beside the tests: the causes of each refusal; for a definition or a write
that went well, none.
"""

from __future__ import annotations

import http.client
import json
import ssl
import sys
from pathlib import Path
from typing import Any, Final

from tests.rig.controlplanes import Rig
from tests.rig.processes import wait_until
from towtank_tests.custom.cases import (
    DEFINITIONS,
    OWN,
    RECORDED,
    ROOTED,
    RULES,
    Body,
    definition,
    named,
    own,
)

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SERVED_AFTER: Final = 30


class _Asked:
    """A control plane that is asked."""

    def __init__(self, rig: Rig) -> None:
        context = ssl.create_default_context(cafile=str(rig.folder / "ca.crt"))
        context.load_cert_chain(rig.folder / "admin.crt", rig.folder / "admin.key")
        self._connection = http.client.HTTPSConnection(
            rig.server.removeprefix("https://"), timeout=60, context=context
        )

    def ask(self, method: str, path: str, body: Body | None = None) -> tuple[int, Any]:
        """The code and the body of the answer."""
        content = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, content, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text.startswith(b"{") else {}

    def causes(self, method: str, path: str, body: Body) -> list[list[str]]:
        """Those of a refusal, each as reason, field and message."""
        code, answer = self.ask(method, path, body)
        if code < http.client.BAD_REQUEST:
            return []
        if code != http.client.UNPROCESSABLE_ENTITY:
            raise RuntimeError(f"{method} {path}: {code} {answer.get('message')}")
        return [
            [cause["reason"], cause["field"], cause["message"]]
            for cause in answer["details"]["causes"]
        ]

    def define(self, body: Body) -> str:
        """Make a definition and wait until it is served; returns the path of its objects."""
        code, answer = self.ask("POST", _DEFINITIONS, body)
        if code != http.client.CREATED:
            raise RuntimeError(f"{body['metadata']['name']}: {answer}")
        spec = body["spec"]
        namespace = "" if spec["scope"] == "Cluster" else "/namespaces/default"
        version, plural = spec["versions"][0]["name"], spec["names"]["plural"]
        path = f"/apis/{spec['group']}/{version}{namespace}/{plural}"
        served = 0

        def steady() -> bool:  # one answer is not enough: the first comes before all of it is there
            nonlocal served
            served = served + 1 if self.ask("GET", path)[0] == http.client.OK else 0
            return served > 1

        wait_until(steady, (), f"{path} to be served", _SERVED_AFTER)
        return path

    def write(self, path: str, body: Body, old: Any) -> list[list[str]]:
        """Causes against an object that has the spec ``old`` and is to have the body's, or is to be
        made (None).
        """
        if old is None:
            found = self.causes("POST", path, body)
        else:
            made = self.ask("POST", path, {**body, "spec": old})
            if made[0] != http.client.CREATED:
                raise RuntimeError(f"the old object: {made}")
            version = {"resourceVersion": made[1]["metadata"]["resourceVersion"]}
            found = self.causes(
                "PUT",
                f"{path}/{body['metadata']['name']}",
                {**body, "metadata": {**body["metadata"], **version}},
            )
        self.ask("DELETE", f"{path}/{body['metadata']['name']}")
        return found


def _definitions(asked: _Asked) -> dict[str, Any]:
    # A dry run leaves no names behind that the next one could not have.
    return {
        name: asked.causes("POST", f"{_DEFINITIONS}?dryRun=All", body)
        for name, body in DEFINITIONS.items()
    }


def _writes(asked: _Asked) -> dict[str, Any]:
    things = definition(ROOTED)
    path = asked.define(things)
    found: dict[str, Any] = {}
    for name, (_, writes) in RULES.items():
        found[name] = []
        for write in writes:
            old, new = write if isinstance(write, tuple) else (None, write)
            body = {
                **named(things, "a"),
                "spec": {} if new is None and isinstance(write, tuple) else {name: new},
            }
            found[name].append(
                asked.write(
                    path,
                    body,
                    None if not isinstance(write, tuple) else {} if old is None else {name: old},
                )
            )
    return {**found, "root": [asked.write(path, {**named(things, "bad"), "spec": {}}, None)]}


def _own(asked: _Asked) -> dict[str, Any]:
    paths = {plural: asked.define(own(plural)) for plural in ("schedulerprofiles", "pluginconfigs")}
    return {
        case: asked.write(paths[plural], {**named(own(plural), name), "spec": new}, old)
        for case, (plural, name, old, new) in OWN.items()
    }


def main() -> None:
    """Start a control plane, ask, write."""
    with Rig(Path(sys.argv[1])) as rig:
        asked = _Asked(rig)
        answers = {"definitions": _definitions(asked), "writes": _writes(asked), "own": _own(asked)}
    RECORDED.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
