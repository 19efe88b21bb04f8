"""How steps follow each other, what counts as gone, and what is said of what stays."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.apps.install import removing
from moorage.apps.install.departures import Departure, DepartureStep
from moorage.apps.install.object_keys import Document, ObjectKey, key_of
from moorage.apps.install.removing import NotGone, Removal
from moorage.ports.errors import Conflict, EdgeError, Forbidden, NotFound, Retryable


def some(kind: str, name: str = "moorage", **more: Any) -> Document:
    """An object."""
    metadata = {"name": name, "namespace": "n", "uid": f"uid of {kind} {name}"}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}


class Cluster:
    """Objects that go at once, but for those that stay for some looks after they were deleted; an
    ``answer`` is raised by the first deletion.
    """

    def __init__(self, *objects: Document, looks: int = 0, answer: EdgeError | None = None) -> None:
        self.objects = {key_of(one): one for one in objects}
        self.looks = looks
        self.answer = answer
        self.done: list[str] = []

    async def get(self, key: ObjectKey) -> Document | None:
        """As long as it is there."""
        found = self.objects.get(key)
        if found is not None and "deletionTimestamp" in found["metadata"]:
            self.looks -= 1
            if self.looks < 0:
                del self.objects[key]
                return None
        return found

    async def delete(self, key: ObjectKey, *, uid: str, foreground: bool) -> None:
        """It begins to go."""
        self.done.append(f"{key.kind} {key.name}{' first' if foreground else ''}")
        answer, self.answer = self.answer, None
        if answer is not None:
            raise answer
        assert uid == self.objects[key]["metadata"]["uid"]
        self.objects[key]["metadata"]["deletionTimestamp"] = "t"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removing, "POLL_SECONDS", 0)


def plan(*steps: list[Document]) -> Departure:
    """A plan of steps."""
    return Departure(tuple(DepartureStep(f"step {i}", tuple(them)) for i, them in enumerate(steps)))


def remove(cluster: Cluster, what: Departure, looks_until_late: int = 5) -> list[str]:
    """Run it, with a clock by which so many looks are in time; what is said."""
    said: list[str] = []
    times = iter(range(10_000))

    def clock() -> float:
        return next(times)

    asyncio.run(Removal(cluster, said.append, seconds=looks_until_late, clock=clock).run(what))
    return said


def test_a_step_begins_when_the_last_one_is_over() -> None:
    """And a Deployment goes after what it owns."""
    hook, deployment, role = some("Webhook"), some("Deployment"), some("Role")
    cluster = Cluster(hook, deployment, role, looks=3)
    seen: list[tuple[str, int]] = []
    delete = cluster.delete

    async def noted(key: ObjectKey, *, uid: str, foreground: bool) -> None:
        seen.append((key.kind, len(cluster.objects)))
        await delete(key, uid=uid, foreground=foreground)

    cluster.delete = noted  # type: ignore[method-assign]
    said = remove(cluster, plan([hook], [deployment], [role]))
    assert not cluster.objects
    assert seen == [("Webhook", 3), ("Deployment", 2), ("Role", 1)]
    assert cluster.done[1] == "Deployment moorage first"
    assert said[0] == "step 0: Webhook n/moorage gone"


GONE = {
    "gone": NotFound("DELETE", 404),
    "its namespace is going": Conflict("DELETE", 409),
    "nobody has answered": Retryable("503"),
}


@pytest.mark.parametrize("answer", GONE.values(), ids=GONE)
def test_what_is_gone_or_going_is_success(answer: EdgeError) -> None:
    """A deletion that had no answer is asked for again."""
    space = some("Namespace")
    cluster = Cluster(space, answer=answer)
    if isinstance(answer, NotFound):
        cluster.objects.clear()
    if isinstance(answer, Conflict):
        space["metadata"]["deletionTimestamp"] = "t"
    remove(cluster, plan([space]))
    assert not cluster.objects
    assert len(cluster.done) == 1 + isinstance(answer, Retryable)


def test_another_one_of_its_name_is_left_alone() -> None:
    """It was made since."""
    old, new = some("Role"), some("Role")
    new["metadata"]["uid"] = "another"
    cluster = Cluster(new, answer=Conflict("DELETE", 409))
    remove(cluster, plan([old]))
    assert [*cluster.objects.values()] == [new]


def test_what_stays_is_named_with_what_keeps_it() -> None:
    """Finalizers of others, a namespace's conditions, a kubelet."""
    pod = some("Pod", spec={"nodeName": "far"})
    pod["metadata"]["finalizers"] = ["example.com/a"]
    conditions = [
        {"type": "NamespaceContentRemaining", "status": "True", "message": "1 pod"},
        {"type": "NamespaceDeletionContentFailure", "status": "False", "message": "all well"},
    ]
    space = some("Namespace", status={"conditions": conditions})
    with pytest.raises(NotGone) as error:
        remove(Cluster(pod, space, looks=10_000), plan([pod, space]))
    assert str(error.value).splitlines() == [
        "step 0: still there after 5 s:",
        "  Pod n/moorage: its finalizers: example.com/a; the kubelet of node far ends it",
        "  Namespace n/moorage: NamespaceContentRemaining: 1 pod",
    ]


def test_a_right_that_is_missing_is_told() -> None:
    """By whoever asked."""
    with pytest.raises(Forbidden):
        remove(Cluster(some("Role"), answer=Forbidden("DELETE", 403)), plan([some("Role")]))
