"""A PluginConfig of 50,000 wrong keys is read again and again, and each time holds the loop."""

import time

from tests.faults.stage import Stage, Stream, verdict

with Stage() as stage:
    time.sleep(3)
    used = stage.cpu()
    time.sleep(4)
    idle = (stage.cpu() - used) / 4
    with Stream(stage, pause=0.1) as stream:
        time.sleep(2)
        quiet, before = stream.worst(), len(stream.waits)
        stage.config("keys", "NodeResourcesFit", {f"k{i}": i for i in range(50_000)})
        time.sleep(10)
        worst = stream.worst(before)
    time.sleep(2)
    used = stage.cpu()
    time.sleep(12)
    later = (stage.cpu() - used) / 12
    verdict(
        later > idle + 0.05 or worst > quiet + 0.3,
        f"CPU 12 s later {later:.0%} of a core, idle before {idle:.0%}; an"
        f" ordinary pod waited {worst:.2f} s at most ({quiet:.2f} s before)",
    )
