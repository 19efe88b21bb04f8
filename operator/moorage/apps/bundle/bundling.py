"""The command: the parts, cleaned, in an archive of one folder."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import io
import json
import os
import secrets
import sys
import tarfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

from moorage.apps.bundle.leaving_out import LeavingOut, in_texts
from moorage.apps.bundle.name_hashes import HASHED, NOT_HASHED, NameHashes, names_in
from moorage.apps.bundle.object_names import names_of_objects
from moorage.apps.bundle.parts import Part, UnseenProfiles, parts
from moorage.apps.commands.output_files import STDOUT, refuse_terminal, shown, told_beside
from moorage.apps.exit_status import ExitStatus, NoAnswer, WrongUse
from moorage.apps.printing import amounts
from moorage.apps.printing.progress_line import working
from moorage.apps.reach.installations import installation_of
from moorage.apps.reach.operator_choice import OperatorChoice
from moorage.apps.reach.operators import reached
from moorage.apps.reach.surroundings import Surroundings, surroundings
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import Connection, connected
from moorage.ports.errors import EdgeError
from moorage.ports.texts import printable

OUT: Final = "out   Secrets, ConfigMaps, environment, commands, images, annotations, credentials"
STAY: Final = ("stay  names (--hash-names)",)
HASH: Final = (f"hash  {HASHED}", f"stay  {NOT_HASHED}")
_HASHED_LOGS: Final = "left out with --hash-names: not every name in it can be known"


@dataclasses.dataclass(frozen=True, slots=True)
class BundleOptions:
    """What was typed; ``file`` is None for one that is named by the time, STDOUT for stdout."""

    cluster: ClusterChoice
    operator: OperatorChoice
    file: Path | None = None
    hash_names: bool = False


def run(options: BundleOptions) -> int:
    """Collect and write; the exit status. Raises CommandError."""
    now = datetime.datetime.now(datetime.UTC)
    folder = f"moorage-bundle-{now:%Y%m%d-%H%M%S}"
    file = options.file or Path(f"{folder}.tar.gz")
    refuse_terminal("-o", file)
    if file != STDOUT and file.exists():
        raise WrongUse(f"-o {file}: the file is there already, and is not written over")
    with working("Collecting"):
        found, names = asyncio.run(_collected(options))
    texts, missing = cleaned(found, names)
    archive = _archive(folder, {**texts, "contents.txt": _contents(texts, missing, names)}, now)
    _write(file, archive)
    told = told_beside(file)
    size = amounts.size(len(archive))
    print(f"Wrote {shown(file)}, {size}. Look into it before you send it.", file=told)
    print(f"  {_contents(texts, missing, names).rstrip()}".replace("\n", "\n  "), file=told)
    return ExitStatus.YES


async def _collected(options: BundleOptions) -> tuple[list[Part], Collection[str] | None]:
    """The parts, and the names to hash, None for none. Raises NoAnswer."""
    async with connected(options.cluster, waits_alone=False) as connection:
        around = await _around(connection)
        choice = options.cluster, options.operator, around.installation
        async with reached(connection.session, *choice) as operator:
            found = [part async for part in parts(connection, around, operator)]
        names = await names_of_objects(connection) if options.hash_names else None
    return found, names


async def _around(connection: Connection) -> Surroundings | UnseenProfiles:
    try:
        return await surroundings(connection)
    except NoAnswer as error:
        why = str(error)
    try:
        return UnseenProfiles(why, await installation_of(connection.session, ()))
    except EdgeError as error:
        return UnseenProfiles(f"{why}; the operator's Leases: {error}", None)


def cleaned(
    found: Sequence[Part], names: Collection[str] | None
) -> tuple[dict[str, str], dict[str, str]]:
    """The files' texts, without what is left out, and why others are not there; ``names`` are those
    to hash, None for none.
    """
    missing: dict[str, str] = {one.file: one.missing for one in found if one.missing}
    leaving_out = LeavingOut()
    fields = {one.file: leaving_out.fields(one.body) for one in found if not one.missing}
    bodies = {file: leaving_out.texts(body) for file, body in fields.items()}
    missing = {file: leaving_out.texts(why) for file, why in missing.items()}
    if names is not None:
        for file in [file for file in bodies if file.startswith("logs/")]:
            del bodies[file]
            missing[file] = _HASHED_LOGS
        hashes = NameHashes({*names, *names_in(list(bodies.values()))}, secrets.token_bytes(16))
        bodies = {file: in_texts(body, hashes.text) for file, body in bodies.items()}
        missing = in_texts(missing, hashes.text)
    return {file: _written(body) for file, body in bodies.items()}, missing


def _written(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def _contents(texts: dict[str, str], missing: dict[str, str], names: Collection[str] | None) -> str:
    lines = [f"in    {file}, {amounts.size(len(text.encode()))}" for file, text in texts.items()]
    lines += [OUT, *(STAY if names is None else HASH)]
    lines += [f"miss  {file}: {printable(why)}" for file, why in missing.items()]
    return "\n".join(lines) + "\n"


def _archive(folder: str, texts: dict[str, str], now: datetime.datetime) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for file, text in texts.items():
            data = text.encode()
            entry = tarfile.TarInfo(f"{folder}/{file}")
            entry.size, entry.mtime, entry.mode = len(data), int(now.timestamp()), 0o600
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def _write(file: Path, archive: bytes) -> None:
    """A new file that only its owner can read. Raises NoAnswer."""
    if file == STDOUT:
        sys.stdout.buffer.write(archive)
        return
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with contextlib.closing(os.fdopen(handle, "wb")) as made:
            made.write(archive)
    except OSError as error:
        raise NoAnswer(f"-o {file} cannot be written: {error.strerror}") from error
