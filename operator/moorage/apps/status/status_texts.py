"""What people read of a Status document."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from moorage.apps.printing.amounts import age
from moorage.apps.printing.terminal import Style, new_table, sentence
from moorage.apps.status.group_lines import groups_table
from moorage.apps.status.status_documents import Document, number

FOLD: Final = 12
"""With more profiles than these, those that are well are one line."""
_BEGIN: Final = """\
Start with: kubectl apply -f - <<EOF
apiVersion: moorage.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: binpack}
spec: {preset: BinPack}
EOF"""
_READY: Final = {"True": Style.WELL, "False": Style.REFUSED, "Unknown": Style.WAITS}
_NUMBERS: Final = ("PODS/S", "P99", "ACTIVE", "BACKOFF", "UNSCHED", "GATED")


def status_parts(status: Document, *, wide: bool = False) -> Iterator[RenderableType]:
    """The answer, what needs a look, profiles, groups that wait, replicas, what is good to
    know, and what to do next.
    """
    now = datetime.datetime.fromisoformat(status["at"])
    yield _first_line(status, now)
    if status["admission"]:
        yield sentence(status["admission"], Style.REFUSED)
    if status["problems"]:
        yield _problems(status)
    if status["profiles"]:
        yield Text()
        yield from _profiles(status, wide=wide)
    elif status["led"] is not False:
        yield Text(_BEGIN)
    yield from _groups(status["groups"] or (), now, wide=wide)
    if status["replicas"]:
        yield Text()
        yield _replicas(status["replicas"], now)
    yield from (sentence(text, Style.DIM) for text in status["notes"])
    yield from (sentence(f"Left out: {text}", Style.DIM) for text in status["leftOut"])
    if status["next"]:
        yield sentence(f"Next: {'   '.join(status['next'])}")


def _first_line(status: Document, now: datetime.datetime) -> Text:
    style = Style.WELL if status["well"] else Style.WAITS
    line = sentence(status["answer"], Style.REFUSED if status["led"] is False else style)
    return line.append(f"  {status['cluster']}, {now.astimezone():%H:%M:%S}", str(Style.DIM))


def _problems(status: Document) -> RenderableType:
    table = new_table("", "", wide="")
    table.show_header = False
    table.columns[0].no_wrap = True
    trials = {one["name"] for one in status["profiles"] if one["trial"]}
    for one in status["problems"]:
        style = Style.TRIAL if one["profile"] in trials else Style.REFUSED
        table.add_row(sentence(f"  {one['profile']}", style), sentence(one["message"]))
    return table


def _profiles(status: Document, *, wide: bool) -> Iterator[RenderableType]:
    profiles, folded = _folded(status["profiles"], status["problems"], wide=wide)
    more = ("SCHEDULER", "DESIRED", "REASON") if wide else ()
    columns = ("PROFILE", "READY", "REVISION", "TRIAL", *_NUMBERS, *more)
    table = new_table(*columns, numbers=_NUMBERS, wide=columns[-1] if wide else "PROFILE")
    for one in profiles:
        table.add_row(*_row(one, wide=wide))
    yield table
    if folded:
        yield sentence(f"and {folded} more, all well (-o wide)", Style.DIM)


def _groups(
    groups: Sequence[Document], now: datetime.datetime, *, wide: bool
) -> Iterator[RenderableType]:
    shown = groups if wide else groups[:FOLD]
    if shown:
        yield Text()
        yield groups_table(shown, now)
    if more := len(groups) - len(shown):
        yield sentence(f"and {more} more groups (-o wide)", Style.DIM)


def _folded(
    profiles: Sequence[Document], problems: Sequence[Mapping[str, Any]], *, wide: bool
) -> tuple[Sequence[Document], int]:
    """The profiles to show, and how many others there are."""
    if wide or len(profiles) <= FOLD:
        return profiles, 0
    named = {one["profile"] for one in problems}
    shown = [one for one in profiles if one["name"] in named]
    return shown, len(profiles) - len(shown)


def _row(profile: Document, *, wide: bool) -> Iterator[Text]:
    queue, trial = profile["queue"], profile["trial"]
    rate, p99 = profile["podsPerSecond"], profile["p99Seconds"]
    yield sentence(profile["name"], Style.NAME)
    yield sentence(profile["ready"], Style.TRIAL if trial else _READY.get(profile["ready"], ""))
    yield sentence(profile["revision"] or "-")
    yield sentence(trial["revision"] if trial else "-", Style.TRIAL if trial else "")
    yield sentence("-" if rate is None else number(rate))
    yield sentence("-" if p99 is None else f"{p99:.2g}s" if p99 < 1 else f"{p99:.1f}s")
    for place in ("active", "backoff", "unschedulable", "gated"):
        yield sentence(str(queue[place]))
    if wide:
        yield sentence(profile["schedulerName"])
        yield sentence(profile["desiredRevision"] or "-")
        yield sentence(profile["reason"])


def _replicas(replicas: Sequence[Document], now: datetime.datetime) -> RenderableType:
    table = new_table("REPLICA", "ROLE", "REVISIONS", "SEEN", "LEADS SINCE", wide="REPLICA")
    for one in replicas:
        ready, of = one["revisionsReady"], one["revisions"]
        table.add_row(
            sentence(one["identity"], Style.NAME),
            sentence(str(one["role"] or "-")),
            sentence(f"{ready} of {of}", "" if ready == of else Style.WAITS),
            _ago(one["seen"], now),
            _ago(one["since"], now),
        )
    return table


def _ago(text: str | None, now: datetime.datetime) -> str:
    if text is None:
        return "-"
    return age(max(0.0, (now - datetime.datetime.fromisoformat(text)).total_seconds()))
