"""Ask a real API server to show all that is in shown.yaml, and keep its answers in
recorded_tables.json.

    python -m tests.conformance.recording.tables

Ages are counted in whole seconds from whole seconds, so an answer that came within one second of
the clock says exactly when it was.
"""

import datetime
import http.client
import json
import re
import ssl
import time
from typing import Any, Final

import yaml

from tests.rig import Rig
from tests.rig.clients import Client
from tests.suites import ROOT
from tests.tools import assets

HERE: Final = ROOT / "packages" / "towtank" / "towtank_tests"
RECORDED: Final = HERE / "recorded_tables.json"
LABELS: Final = {"recorded": "yes"}
TABLE: Final = "application/json;as=Table;g=meta.k8s.io;v=v1"


def main() -> None:
    """Make the file anew."""
    with Rig(assets.ensure()) as rig:
        client = Client(rig)
        entries = _entries(int(time.time()))
        for entry in entries:
            for body in entry["objects"]:
                _create(client, entry["path"], entry.get("named", {}) | body)
            if entry["path"].endswith("customresourcedefinitions"):
                rig.establish(*(body["metadata"]["name"] for body in entry["objects"]))
        recorded = {entry["path"]: _record(rig, client, entry["path"]) for entry in entries}
        client.close()
    RECORDED.write_text(
        json.dumps(recorded, separators=(",", ":"), ensure_ascii=False).replace('"/api', '\n"/api')
        + "\n"
    )


def _entries(now: int) -> list[Any]:
    def moment(found: re.Match[str]) -> str:
        then = datetime.datetime.fromtimestamp(now - int(found[1]), datetime.UTC)
        return then.strftime("%Y-%m-%dT%H:%M:%S.000000Z" if found[2] else "%Y-%m-%dT%H:%M:%SZ")

    entries: list[Any] = yaml.safe_load(
        re.sub(r"\$\{ago}(-?\d+)(micro)?", moment, (HERE / "shown.yaml").read_text())
    )
    return entries


def _create(client: Client, path: str, body: dict[str, Any]) -> None:
    made = body | {
        "metadata": body["metadata"] | {"labels": body["metadata"].get("labels", {}) | LABELS}
    }
    client.post(path, made)
    place = f"{path}/{body['metadata']['name']}"
    if "status" in body:
        client.merge(f"{place}/status", {"status": body["status"]})
    if "finalizers" in body["metadata"]:
        client.request("DELETE", place, {"kind": "DeleteOptions", "apiVersion": "v1"})


def _record(rig: Rig, client: Client, path: str) -> dict[str, Any]:
    """The objects, when they were shown, and how."""
    query = f"{path}?labelSelector=recorded%3Dyes&includeObject=None"
    objects = client.get(query)
    for item in objects["items"]:
        item["metadata"] = {
            key: value
            for key, value in item["metadata"].items()
            if key not in ("managedFields", "uid")
        }
        item["metadata"]["labels"].pop("recorded")
    now, table = _shown(rig, query)
    return {
        "now": now,
        "kind": objects["kind"].removesuffix("List"),
        "items": objects["items"],
        "columns": [
            [column[key] for key in ("name", "type", "format", "priority")]
            for column in table["columnDefinitions"]
        ],
        "rows": [row["cells"] for row in table["rows"]],
        "conditions": [
            [each["type"] + each["reason"] for each in row.get("conditions", ())]
            for row in table["rows"]
        ],
    }


def _shown(rig: Rig, query: str) -> tuple[int, Any]:
    context = ssl.create_default_context(cafile=str(rig.folder / "ca.crt"))
    context.load_cert_chain(rig.folder / "admin.crt", rig.folder / "admin.key")
    connection = http.client.HTTPSConnection(
        rig.server.removeprefix("https://"), timeout=60, context=context
    )
    while True:
        before = int(time.time())
        connection.request("GET", query, headers={"Accept": TABLE})
        table = json.loads(connection.getresponse().read())
        if int(time.time()) == before:
            connection.close()
            return before, table


if __name__ == "__main__":
    main()
