"""One 404 for a binding (a proxy's page) while the watch still has the pod: it is never tried
again.
"""

from tests.faults.proxies import HttpProxy
from tests.faults.stage import Stage, verdict

with Stage(between=HttpProxy) as stage:
    refused: list[str] = []

    def answer(method: str, path: str, body: bytes) -> tuple[int, str] | None:
        if method == "POST" and path.partition("?")[0].endswith("/pods/p/binding") and not refused:
            refused.append(path)
            return 404, "<html>404 page not found</html>"
        return None

    stage.proxy.answer = answer
    stage.pod("p")
    where = stage.bound("p", 45)
    verdict(
        not where,
        (
            f"404s given: {len(refused)}; the pod is "
            f"{'on ' + where if where else 'not bound after 45 s'}; {stage.why('p')}"
        ),
    )
