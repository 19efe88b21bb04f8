"""Jobs: pods of a template, until enough of them have succeeded.

What differs from Kubernetes' own controller: a pod that has ended counts as long as it is there,
and a failed one is replaced at once. Deadlines, ttlSecondsAfterFinished and the policies of success
and of failed pods are not looked at.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from towtank.controllers.client import PODS, is_terminating
from towtank.controllers.controller import Controller, Key
from towtank.controllers.ownership import labels_of, owner_name, owner_reference
from towtank.model import conditions
from towtank.model.kinds import Body
from towtank.model.times import timestamp
from towtank.storage.store import StoreChange

JOBS = "jobs.batch"
BURST = 16
"""Pods that are made or deleted at one look; then others have their turn."""
_INDEX = "batch.kubernetes.io/job-completion-index"
_COMPLETE = ("CompletionsReached", "Reached expected number of succeeded pods")
_FAILED = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")


class JobController(Controller):
    """Keys: (namespace, name) of a job."""

    def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
        """Jobs, and those whose pods change."""
        if resource == JOBS and change.type != "DELETED":
            if change.alters(lambda job: job["spec"]):
                yield change.now.key
        elif resource == PODS:
            for name in {owner_name(body, "Job") for body in change.bodies} - {""}:
                yield change.now.key[0], name

    def reconcile(self, key: Key, now: datetime) -> None:
        """Make pods that lack, delete those that are too many, and say how far it is."""
        namespace, name = key
        job = self.client.verbs.find(JOBS, namespace, name)
        if job is None or is_terminating(job) or _is_finished(job):
            return
        ends = self._end(job)
        active = tuple(self.client.pods["active", job["metadata"]["uid"]])
        wanted = 0 if ends or job["spec"]["suspend"] else self._wanted(job)
        if len(active) > wanted:
            self._delete(key, active[wanted:])
        else:
            self._create(key, job, active, wanted - len(active))
        self._report(job, ends, now)

    def _ended(self, job: Body, phase: str) -> Sequence[Body]:
        """Its pods that have ended so; of an Indexed job that succeeded, one for each index."""
        owned = self.client.pods["owner", job["metadata"]["uid"]]
        found = [pod for pod in owned if pod.get("status", {}).get("phase") == phase]
        if phase == "Failed" or not _is_indexed(job):
            return found
        return list({_index(pod): pod for pod in found}.values())

    def _end(self, job: Body) -> Sequence[Body]:
        """The conditions of a job that is at its end; none while it goes on."""
        spec, succeeded = job["spec"], len(self._ended(job, "Succeeded"))
        if len(self._ended(job, "Failed")) > spec["backoffLimit"]:
            return _told(("FailureTarget", "Failed"), *_FAILED)
        pods = self.client.pods["active", job["metadata"]["uid"]]
        if spec.get("completions") is None:
            complete = succeeded > 0 and not pods
        else:
            complete = succeeded >= spec["completions"]
        return _told(("SuccessCriteriaMet", "Complete"), *_COMPLETE) if complete else ()

    def _wanted(self, job: Body) -> int:
        """How many pods are to run now."""
        spec, succeeded = job["spec"], len(self._ended(job, "Succeeded"))
        if spec.get("completions") is None:  # whoever runs goes on, and nobody comes any more
            active = len(self.client.pods["active", job["metadata"]["uid"]])
            return min(active, spec["parallelism"]) if succeeded else int(spec["parallelism"])
        return int(min(spec["parallelism"], spec["completions"] - succeeded))

    def _create(self, key: Key, job: Body, active: Sequence[Body], number: int) -> None:
        taken = {_index(pod) for pod in (*active, *self._ended(job, "Succeeded"))}
        free: Iterator[int | None] = itertools.repeat(None)
        if _is_indexed(job):
            free = (index for index in range(job["spec"]["completions"]) if index not in taken)
        for index in itertools.islice(free, min(number, BURST)):
            self.client.create(PODS, _pod(job, index))
        if number > BURST:
            self.queue.add(key)

    def _delete(self, key: Key, pods: Sequence[Body]) -> None:
        for pod in pods[:BURST]:
            self.client.delete(PODS, pod)
        if len(pods) > BURST:
            self.queue.add(key)

    def _report(self, job: Body, ends: Sequence[Body], now: datetime) -> None:
        """Write the status, where it is another one than before."""
        pods, uid, time = self.client.pods, job["metadata"]["uid"], timestamp(now)
        succeeded, before = self._ended(job, "Succeeded"), job.get("status") or {}
        said = [*_suspension(job), *({**one, "lastProbeTime": time} for one in ends)]
        dated = [conditions.with_transition_time(job, one, time) for one in said]
        complete = any(one["type"] == "Complete" for one in ends)
        status: Body = {
            "active": len(pods["active", uid]) or None,
            "ready": len(pods["ready", uid]),
            "terminating": len(pods["leaving", uid]),
            "succeeded": len(succeeded) or None,
            "failed": len(self._ended(job, "Failed")) or None,
            "completedIndexes": _ranges(map(_index, succeeded)) if _is_indexed(job) else None,
            "uncountedTerminatedPods": {},
            "startTime": None if job["spec"]["suspend"] else before.get("startTime") or time,
            "completionTime": time if complete else None,
            "conditions": conditions.merged_conditions(job, *dated) or None,
        }
        self.client.status(JOBS, job, status)


def _is_finished(job: Body) -> bool:
    return conditions.holds(job, "Complete") or conditions.holds(job, "Failed")


def _is_indexed(job: Body) -> bool:
    return bool(job["spec"]["completionMode"] == "Indexed")


def _index(pod: Body) -> int:
    """Its number in an Indexed job, -1 for none."""
    text = labels_of(pod).get(_INDEX, "")
    return int(text) if text.isdecimal() else -1


def _told(kinds: Iterable[str], reason: str, message: str, status: str = "True") -> Sequence[Body]:
    said = {"status": status, "reason": reason, "message": message}
    return [{"type": kind, **said} for kind in kinds]


def _suspension(job: Body) -> Sequence[Body]:
    """That it is suspended, or no longer; nothing of one that never was."""
    if job["spec"]["suspend"]:
        return _told(("Suspended",), "JobSuspended", "Job suspended")
    if conditions.find(job, "Suspended"):
        return _told(("Suspended",), "JobResumed", "Job resumed", "False")
    return ()


def _ranges(indexes: Iterable[int]) -> str:
    """As in 0-2,5."""
    texts = []
    for _, run in itertools.groupby(enumerate(sorted(indexes)), lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        texts.append("-".join(map(str, dict.fromkeys((numbers[0], numbers[-1])))))
    return ",".join(texts)


def _pod(job: Body, index: int | None) -> Body:
    """A pod of the job, of this number where it is Indexed."""
    template, job_name = job["spec"]["template"], job["metadata"]["name"]
    said, spec = template.get("metadata", {}), template["spec"]
    named = job_name if index is None else f"{job_name}-{index}"
    own = {} if index is None else {_INDEX: str(index)}
    metadata = {
        "generateName": f"{named}-",
        "namespace": job["metadata"]["namespace"],
        "labels": {**labels_of(template), **own},
        "annotations": {**(said.get("annotations") or {}), **own},
        "finalizers": said.get("finalizers"),
        "ownerReferences": [owner_reference(job)],
    }
    called = {} if index is None else {"hostname": named}
    return {
        "metadata": {name: value for name, value in metadata.items() if value},
        "spec": {**spec, **called},
    }
