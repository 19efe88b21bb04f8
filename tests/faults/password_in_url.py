"""A password in the server's URL is logged."""

import json
import time

from tests.faults.stage import Stage, verdict

with Stage(start=False) as stage:
    cluster = {"server": "https://user:S3CRET@127.0.0.1:1", "insecure-skip-tls-verify": True}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "x"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    file = stage.rig.folder / "url.kubeconfig"
    file.write_text(json.dumps(document))
    stage.operator = stage.new_operator(kubeconfig=file)
    time.sleep(10)
    found = stage.log_text().count("S3CRET")
    verdict(found > 0, f"the password stands in the log {found} times")
