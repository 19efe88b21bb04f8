"""Without a reachable cluster the log fills: a line per cause and informer and second."""

import json
import time

from tests.faults.stage import Stage, verdict

LIMIT = 40
with Stage(start=False) as stage:
    document = json.loads(stage.direct.read_text())
    document["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    file = stage.rig.folder / "nowhere.kubeconfig"
    file.write_text(json.dumps(document))
    stage.operator = stage.new_operator(kubeconfig=file)
    time.sleep(15)
    lines = len(stage.log_text().splitlines())
    verdict(lines > LIMIT, f"{lines} lines in 15 s; limit {LIMIT}")
