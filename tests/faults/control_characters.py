"""Control characters that others chose reach terminals (moorage check) and text logs raw: lines can
be forged.

Tried: names in a file, a PodGroup annotation, the error text of an extender.
"""

import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

from tests.faults.stage import Stage, until, verdict

FORGED = "\n2026-01-01T00:00:00.000Z CRITICAL moorage.engine forged"


class Rude(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"error": f"no{FORGED} by extender\n\x1b[31m"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


server = HTTPServer(("127.0.0.1", 0), Rude)
threading.Thread(target=server.serve_forever, daemon=True).start()
config = {"extenders": {"allowedHosts": ["*"]}, "logging": {"format": "text", "verbosity": 2}}
with Stage(start=False, config=config) as stage:
    file = stage.rig.folder / "odd.yaml"
    file.write_text(
        "apiVersion: moorage.dev/v1alpha1\nkind: SchedulerProfile\n"
        'metadata: {name: "\\e[31mx\\n\\u202e"}\nspec: {preset: "\\e]0;owned\\a"}\n'
    )
    done = subprocess.run(
        [sys.executable, "-I", "-m", "moorage", "check", str(file)],
        capture_output=True,
        timeout=30,
        check=False,
    )
    raw = b"\x1b" in done.stdout + done.stderr or "\u202e".encode() in done.stdout + done.stderr
    stage.operator = stage.new_operator()
    until(lambda: "leading" in stage.log_text(), 30)
    stage.profile(
        "ext",
        extenders=[
            {
                "urlPrefix": f"http://127.0.0.1:{server.server_port}/x",
                "filterVerb": "f",
                "nodeCacheCapable": True,
                "tlsConfig": {"insecure": True},
            }
        ],
    )
    until(lambda: stage.condition("ext", "Ready")[0] == "True", 10)
    stage.pod("e", scheduler="ext")
    stage.pod(
        "g",
        labels={"scheduling.x-k8s.io/pod-group": "g"},
        annotations={"moorage.dev/min-member": f"1{FORGED} by annotation"},
    )
    time.sleep(4)
    text = stage.log_text()
    forged = [
        line[:70]
        for line in text.splitlines()
        if line.startswith("2026-01-01T00:00:00.000Z CRITICAL")
    ]
    verdict(
        raw or bool(forged) or "\x1b" in text,
        f"moorage check prints raw control characters: {raw}; forged lines"
        f" in the log: {forged or 'none'}; ESC in the log: {chr(27) in text}",
    )
