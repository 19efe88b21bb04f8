"""Other forged fields of a profile's status stay as they are (a later write of the whole status may
mend them by chance).
"""

import time

from tests.faults.stage import API, Stage, verdict

with Stage() as stage:
    path = f"{API}/schedulerprofiles/test"
    time.sleep(12)  # until what a start has to write is written
    ours = stage.client.get(path)["status"]
    forged = {
        "type": "Ready",
        "status": "False",
        "reason": "Forged",
        "message": "forged",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
        "observedGeneration": 99,
    }
    stage.client.merge(
        f"{path}/status", {"status": {"activeRevision": "forged", "conditions": [forged]}}
    )
    time.sleep(5)
    now = stage.client.get(path)["status"]
    left = [
        name
        for name, bad in (
            ("activeRevision", now.get("activeRevision") != ours.get("activeRevision")),
            ("conditions", any(c.get("reason") == "Forged" for c in now.get("conditions", []))),
            ("lost conditions", len(now.get("conditions", [])) < len(ours.get("conditions", []))),
        )
        if bad
    ]
    verdict(bool(left), f"5 s after the forgery still wrong: {', '.join(left) or 'nothing'}")
