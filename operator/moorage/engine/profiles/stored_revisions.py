"""Stored revisions: of each profile the newest few, kept by the API server, so that a bad spec
finds its last good one after a restart.

In memory is no more of them than what they are called: what they are made of is read when it is
asked for.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Sequence

from moorage.api import bodies
from moorage.api.resolved_profile import Resolution
from moorage.engine.profile_records import ProfileRecord
from moorage.engine.profiles.resolving import ProfileResolver
from moorage.ports.errors import Conflict, EdgeError
from moorage.ports.kube import KubeReader, KubeWriter, StoredRevision
from moorage.ports.texts import MAX_NAME_CHARACTERS, shortened

log = logging.getLogger(__name__)

KEPT = 5
"""Stored revisions per profile."""
NAMED_BY = ("revision", "uid")
"""What is known of a stored revision's data."""


class StoredRevisions:
    """Stores, reads and prunes the revisions of all profiles."""

    def __init__(self, reads: KubeReader, writes: KubeWriter, resolver: ProfileResolver) -> None:
        self.known: dict[str, list[StoredRevision]] = {}
        """By profile UID, oldest first."""
        self._reads = reads
        self._writes = writes
        self._resolver = resolver

    async def restore(self) -> None:
        """Read which there are; where that fails, what is known stays."""
        self.known = by_profile(await self._reads.revisions())

    def forget(self, uid: str) -> None:
        """The profile is gone: its stored revisions go with it."""
        self.known.pop(uid, None)

    async def store(self, record: ProfileRecord, resolution: Resolution) -> None:
        """Keep the revision for restarts, as the newest one. Raises EdgeError when that failed for
        now.
        """
        kept = self.known.setdefault(record.uid, [])
        if kept and kept[-1].data.get("revision") == resolution.id:
            return
        number = max((stored.number for stored in kept), default=0) + 1
        profile = shortened(record.name, MAX_NAME_CHARACTERS - len(resolution.id) - 1)
        name = f"{profile}-{resolution.id}"
        said = (resolution.profile, *resolution.used.values())
        change = bodies.last_change(said, kept[-1].changed_at if kept else "")
        stored = StoredRevision(
            name,
            record.name,
            number,
            {**resolution.document, "revision": resolution.id, "uid": record.uid},
            change.manager,
            changed_at=change.time,
        )
        if any(one.name == name for one in kept):  # it decided before
            await self._writes.delete_revision(name)
        await self._create(stored)
        kept[:] = [one for one in kept if one.name != name] + [named(stored)]
        await self._prune(kept)

    def newest(self, record: ProfileRecord) -> str:
        """The revision that was stored last; "" where none is."""
        kept = self.known.get(record.uid)
        return str(kept[-1].data.get("revision", "")) if kept else ""

    def has(self, record: ProfileRecord, revision: str) -> bool:
        """Whether this revision is stored: then it has decided."""
        return self._of(record, revision) is not None

    def trial(self, record: ProfileRecord, against: str) -> str:
        """The trial that was saved beside the revision that it is against, "" where none was."""
        stored = self._of(record, against)
        return stored.trial if stored is not None else ""

    async def save_trial(self, record: ProfileRecord, against: str, document: str) -> None:
        """Keep a trial beside the revision that it is against, in the place of another one. Raises
        EdgeError when that failed for now.
        """
        stored = self._of(record, against)
        if stored is None:
            text = "revision %s is not stored, so its trial is lost with this leader"
            log.warning(text, against, extra={"profile": record.name})
            return
        await self._writes.revision_trial(stored.name, document)
        self.known[record.uid] = [
            dataclasses.replace(one, trial=document) if one.name == stored.name else one
            for one in self.known.get(record.uid, [])
        ]

    def _of(self, record: ProfileRecord, revision: str) -> StoredRevision | None:
        known = self.known.get(record.uid, [])
        return next((one for one in known if one.data.get("revision") == revision), None)

    async def last_good(self, record: ProfileRecord) -> Resolution | None:
        """The newest one that can be used, None where there is none; ``record.lost`` says why.
        Raises EdgeError when it is not known.
        """
        known = list(reversed(self.known.get(record.uid, [])))
        names = tuple(stored.name for stored in known)
        if names == record.useless:
            return None
        record.lost = ""
        for stored in known:
            if (resolution := await self._usable(stored, record)) is not None:
                record.lost = ""
                return resolution
        record.useless = names
        return None

    async def _usable(self, stored: StoredRevision, record: ProfileRecord) -> Resolution | None:
        """A stored revision, resolved; None where it cannot be used, and ``record.lost`` says why
        the newest one cannot.
        """
        resolution = await self._read(stored.name, record)
        if resolution is None:
            return None
        wanted = bodies.scheduler_name(record.body)
        if not resolution.errors and resolution.scheduler_name == wanted:
            return resolution
        faults, revision = "; ".join(map(str, resolution.errors)), stored.data.get("revision")
        text = f"revision {revision} decided before and cannot be used now: {faults}"
        record.lost = record.lost or text
        extra = {"profile": record.name}
        log.error("stored revision %s cannot be used: %s", stored.name, faults, extra=extra)
        return None

    async def _read(self, name: str, record: ProfileRecord) -> Resolution | None:
        """What a stored revision is made of, resolved; None where it is not as it was written."""
        stored = await self._reads.revision(name)
        resolution = self._resolver.from_document(stored.data if stored is not None else {})
        if resolution is None:
            text = "stored revision %s is not as it was written, so it cannot be used"
            log.error(text, name, extra={"profile": record.name})
        return resolution

    async def _create(self, stored: StoredRevision) -> None:
        """Store it, unless it is there as it is to be, as when an answer was lost; another one of
        that name makes room first.
        """
        try:
            await self._writes.create_revision(stored)
        except Conflict:
            found = await self._reads.revision(stored.name)
            data = json.loads(json.dumps(stored.data))
            if found is not None and (found.number, found.data) == (stored.number, data):
                return
            if found is None:
                raise  # it has gone meanwhile: later
            # Of a profile of this name that was deleted, say: it would go with that.
            await self._writes.delete_revision(stored.name)
            await self._writes.create_revision(stored)

    async def _prune(self, kept: list[StoredRevision]) -> None:
        """Keep the newest few; what cannot be deleted now is tried again with the next one."""
        try:
            while len(kept) > KEPT:
                await self._writes.delete_revision(kept[0].name)
                kept.pop(0)
        except EdgeError as error:
            log.warning("stored revision %s was not deleted: %s", kept[0].name, error)


def named(stored: StoredRevision) -> StoredRevision:
    """The same less what it is made of."""
    return dataclasses.replace(
        stored, data={key: stored.data[key] for key in NAMED_BY if key in stored.data}
    )


def by_profile(revisions: Sequence[StoredRevision]) -> dict[str, list[StoredRevision]]:
    """What is kept in memory of stored revisions, by their profile's UID, oldest first."""
    found: dict[str, list[StoredRevision]] = {}
    for revision in sorted(revisions, key=lambda revision: revision.number):
        found.setdefault(str(revision.data.get("uid", "")), []).append(named(revision))
    return found
