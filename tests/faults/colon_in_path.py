"""--kubeconfig with a path that has a colon: it is taken apart there, and then there is "no
context".
"""

import shutil
from pathlib import Path

from tests.faults.stage import Stage, until, verdict

with Stage(start=False) as stage:
    folder = stage.rig.folder / "a:b"
    folder.mkdir()
    file = Path(shutil.copy(stage.direct, folder / "kubeconfig"))
    stage.operator = stage.new_operator(kubeconfig=file)
    until(lambda: "leading" in stage.log_text() or not stage.operator.alive, 15)
    text = stage.log_text()
    leads = '"leading"' in text
    last = (text.strip().splitlines() or ["no log"])[-1]
    verdict(not leads, f"leads: {leads}; {last[:160]}")
