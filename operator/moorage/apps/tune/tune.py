"""The command: searches the first part of a recording, and judges the best few on the rest."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from moorage.adapters.recording import Recording
from moorage.api.resolution import Resolver
from moorage.apps.commands.output_files import STDOUT, told_beside, write_text
from moorage.apps.exit_status import ExitStatus, NoAnswer, WrongUse
from moorage.apps.printing.documents import document, is_for_people
from moorage.apps.printing.progress_line import ProgressLine
from moorage.apps.printing.terminal import open_console, write
from moorage.apps.revisions.diff import is_file
from moorage.apps.revisions.settings import differences, settings
from moorage.apps.simulate.candidate_profiles import read_candidates
from moorage.apps.tune.profile_space import space_of
from moorage.apps.tune.searching import ProfileSearch, SearchLimits, TriedProfile, require_optuna
from moorage.apps.tune.stated_goals import read_goals
from moorage.apps.tune.tuning_answers import JudgedProfile, Tuning, body, terminal_parts
from moorage.apps.worlds import deciding
from moorage.apps.worlds.from_recording import opened, warnings_of
from moorage.core.framework.revisions import Revision
from moorage.core.simulation.compared_measures import REPLICAS
from moorage.core.simulation.judgements import FINALISTS, Goals, best_few, judge, recommended
from moorage.core.simulation.recorded_parts import MeasuredRerun, SplitRecording, moved, split
from moorage.ports.texts import printable

KIND: Final = "Tuning"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """What was typed. ``profile``: a name, FILE or NAME=FILE, "" for the only one there is;
    ``share``: of the time, that is searched; ``file``: where to write the profile, None for a name
    of its own; ``form``: one of ``command_line.FORMATS``, "" for people.
    """

    recording: Path
    resolver: Resolver
    profile: str = ""
    gains: tuple[str, ...]
    guards: tuple[str, ...] = ()
    varied: tuple[str, ...] = ()
    share: float = 2 / 3
    limits: SearchLimits
    file: Path | None = None
    form: str = ""


def run(options: TuneOptions) -> ExitStatus:
    """Tune and print; the exit status. Raises CommandError."""
    if not options.gains:
        raise WrongUse("--for: say what is to gain, as in --for 'nodes left empty'")
    require_optuna()
    recording = opened(options.recording, options.resolver.registry)
    try:
        parts = split(recording, options.share, recording.header.seed)
    except ValueError as error:
        raise NoAnswer(f"{options.recording}: {error}; there is nothing to tune by") from error
    for warning in warnings_of(recording, parts.rest.recorded.end):
        print(f"moorage: {printable(warning)}", file=sys.stderr)
    found = _Tuner(options, recording, parts).tuned()
    out = told_beside(options.file)
    if not is_for_people(options.form):
        out.write(document(KIND, body(found), options.form))
    else:
        write(open_console(out), *terminal_parts(found))
        if found.not_written:
            out.write(f"\n{found.profile_text}")  # not broken into lines as for a terminal
    if found.not_written:
        raise NoAnswer(found.not_written)
    return ExitStatus.NO if found.choice is None else ExitStatus.YES


class _Tuner:
    """Of one profile of one recording."""

    def __init__(self, options: TuneOptions, recording: Recording, parts: SplitRecording) -> None:
        self._options = options
        self._resolver = recording.resolver
        self._parts = parts
        self._name, self._present = _present(options.profile, parts, recording)
        self._document = recording.document(self._present)
        own = _own_name(self._document)
        self._file = options.file or Path(f"{own}-tuned.yaml")
        _require_writable(self._file)

    def tuned(self) -> Tuning:
        """Search, judge, and write what is recommended."""
        first = self._parts.first
        asked = dict.fromkeys(name for one in first.classes for name in one.requests)
        space = space_of(self._document, self._present, list(asked), self._options.varied)
        windows = first.rerun({self._name: self._present}).windows
        goals = read_goals(self._options.gains, self._options.guards, windows)
        search = ProfileSearch(
            space=space,
            resolver=self._resolver,
            part=first,
            scheduler_name=self._name,
            present=windows,
            goals=goals,
        )
        with ProgressLine("Searching", sys.stderr) as line:
            tried = search.run(self._options.limits, line.tell)
        best = [tried[i] for i in best_few([one.outcome for one in tried], FINALISTS)]
        with ProgressLine("Judging", sys.stderr) as line:
            found = self._judged(tried, best, goals, line.tell)
        if found.choice is not None:
            return dataclasses.replace(found, not_written=_write(self._file, found.profile_text))
        return found

    def _judged(
        self,
        tried: Sequence[TriedProfile],
        best: Sequence[TriedProfile],
        goals: Goals,
        tell: Callable[[float], None],
    ) -> Tuning:
        revisions = [self._present, *(one.revision for one in best)]
        (present, *reruns) = [
            self._replicas(revision, i / len(revisions), tell)
            for i, revision in enumerate(revisions)
        ]
        windows = [[one.windows for one in replicas] for replicas in reruns]
        verdicts = judge([one.windows for one in present], windows, goals)
        judged = [
            JudgedProfile(one, verdict, moved(present[0].bound, its[0].bound), its[0].waiting)
            for one, its, verdict in zip(best, reruns, verdicts, strict=True)
        ]
        return Tuning(
            source=str(self._options.recording),
            profile=_own_name(self._document),
            present=self._present,
            goals=goals,
            parts=self._parts,
            tried=tuple(tried),
            judged=tuple(judged),
            choice=recommended(verdicts, goals),
            made_again=moved(self._parts.rest.recorded.bound, present[0].bound),
            changes={one.number: self._changes(one) for one in tried},
            file=self._file,
        )

    def _replicas(
        self, revision: Revision, done: float, tell: Callable[[float], None]
    ) -> list[MeasuredRerun]:
        """Of the part held back."""
        tell(done)
        rest = self._parts.rest
        return [rest.rerun({self._name: revision}, replica) for replica in range(REPLICAS)]

    def _changes(self, one: TriedProfile) -> tuple[str, ...]:
        """What is otherwise in effect, beside the present profile."""
        present = self._resolver.from_document(self._document)
        if present is None:
            return ()
        other = self._resolver(one.body, {})
        mine, its = settings(present, self._resolver), settings(other, self._resolver)
        return tuple(found.sentence for found in differences(mine, its))


def _present(wanted: str, parts: SplitRecording, recording: Recording) -> tuple[str, Revision]:
    """The schedulerName, and who decides for it at the cut. Raises WrongUse."""
    if "=" in wanted or is_file(wanted):
        found = read_candidates((wanted,), recording.resolver)
    elif wanted == deciding.DEFAULT_SCHEDULER:
        decides = deciding.with_default(parts.profiles, recording.resolver)
        found = {wanted: decides[wanted]}
    else:
        found = {
            name: one
            for name, one in parts.profiles.items()
            if wanted in ("", name, _own_name(recording.document(one)))
        }
    if len(found) != 1:
        there = ", ".join(parts.profiles) or "none; use --profile default-scheduler or NAME=FILE"
        what = f"--profile {wanted}" if wanted else "--profile NAME"
        raise WrongUse(f"{what}: one profile is looked for; the recording has: {there}")
    return next(iter(found.items()))


def _own_name(document: Mapping[str, Any]) -> str:
    """The profile's, in a revision's document."""
    return str(document["profile"]["metadata"]["name"])


def _require_writable(file: Path) -> None:
    """Try it, as a search may take hours. Raises WrongUse, NoAnswer."""
    if file == STDOUT:
        return
    try:
        file.open("x").close()
        file.unlink()
    except FileExistsError as error:
        text = f"{file} is there already; name another file: --write FILE"
        raise WrongUse(text) from error
    except OSError as error:
        raise NoAnswer(_cannot(file, error)) from error


def _write(file: Path, text: str) -> str:
    """What went wrong, "" for nothing: the answer comes first."""
    try:
        if file == STDOUT:
            write_text(file, text)
            return ""
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        return _cannot(file, error)
    return ""


def _cannot(file: Path, error: OSError) -> str:
    return f"--write {file}: it cannot be written: {error.strerror}"
