"""An ordinary pod with nodeName and five resource names that nobody has heard of ends the process,
and each restart of it.
"""

from tests.faults.stage import Stage, verdict

with Stage() as stage:
    stage.pod("good")
    first = stage.bound("good", 10)
    stage.pod("odd", node="n1", requests={f"made.up/r{i}": "1" for i in range(5)})
    stage.pod("next")
    after = stage.bound("next", 8)
    alive = stage.operator.alive
    again = stage.new_operator()
    stage.pod("later")
    later = stage.bound("later", 12) if alive or again.alive else ""
    verdict(
        not (alive and after and later),
        (
            f"process lives: {alive}; pods after it bound: {bool(after)}, after a restart: "
            f"{bool(later)} (first one: {first})"
        ),
    )
