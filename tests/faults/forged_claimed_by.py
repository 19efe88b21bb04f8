"""Whoever may write a profile's status names a Lease of his own in status.claimedBy: the leader
stands back for him.
"""

import time

from tests.faults.stage import API, Stage, verdict

with Stage() as stage:
    c = stage.client
    stage.pod("before")
    first = stage.bound("before", 10)
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    spec = {
        "holderIdentity": "tenant",
        "leaseDurationSeconds": 2147483647,
        "renewTime": now,
        "acquireTime": now,
    }
    c.post(
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "tenant"},
            "spec": spec,
        },
    )
    c.merge(f"{API}/schedulerprofiles/test/status", {"status": {"claimedBy": "default/tenant"}})
    time.sleep(4)
    stage.pod("after")
    where = stage.bound("after", 25)
    said = c.get(f"{API}/schedulerprofiles/test")["status"].get("claimedBy")
    verdict(
        not where or said == "default/tenant",
        f"a pod before it: {bool(first)}; 25 s after it: {'bound' if where else 'NOT BOUND'};"
        f" claimedBy is {said}; Ready {stage.condition('test', 'Ready')[:2]}",
    )
