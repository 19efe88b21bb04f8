"""An exec plugin whose answer is broken ends in requests as system:anonymous; one that hangs ends
in silence.
"""

import json
import time

from tests.faults.stage import Stage, verdict

with Stage(start=False, real=True) as stage:

    def said(name: str, script: str) -> tuple[str, bool]:
        program = stage.rig.folder / f"{name}.sh"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        document = json.loads(stage.direct.read_text())
        document["users"][0]["user"] = {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": str(program),
                "interactiveMode": "Never",
            }
        }
        file = stage.rig.folder / f"{name}.kubeconfig"
        file.write_text(json.dumps(document))
        stage.operator = stage.new_operator(kubeconfig=file)
        time.sleep(14)
        text = stage.log_text()
        stage.operator.kill()
        return text, f"{name}.sh" in text or "exec plugin" in text.lower()

    broken, told = said("broken", """echo '{"kind":"ExecCredential","status":{"token":'""")
    hangs, told_of_hang = said("hangs", "sleep 60")
    anonymous = "anonymous" in broken
    verdict(
        anonymous or not told or not told_of_hang,
        f"broken answer: told {told}, asks as anonymous {anonymous}; plugin that"
        f" hangs: told within 14 s {told_of_hang} ({len(hangs.splitlines())} lines)",
    )
