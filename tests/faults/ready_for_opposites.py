"""READY is False for two opposites: the last good specification decides, and nobody decides."""

from tests.faults.stage import API, Stage, until, verdict

BAD = {"plugins": {"score": {"enabled": [{"name": "NoSuchPlugin"}]}}}
with Stage() as stage:
    stage.client.merge(f"{API}/schedulerprofiles/test", {"spec": BAD})
    stage.profile("never", **BAD)
    until(
        lambda: (
            stage.condition("never", "Ready")[0] and stage.condition("test", "Ready")[0] != "True"
        ),
        10,
    )
    stage.pod("p")
    stage.pod("q", scheduler="never")
    decides = (bool(stage.bound("p", 8)), bool(stage.bound("q", 3)))
    ready = (stage.condition("test", "Ready")[0], stage.condition("never", "Ready")[0])
    verdict(
        decides == (True, False) and ready[0] == ready[1],
        (
            f"pods bound by the last good one: {decides[0]}, by the one that was never good: "
            f"{decides[1]}; READY {ready[0]} and {ready[1]}"
        ),
    )
