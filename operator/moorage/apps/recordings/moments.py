"""Moments as people type them: a whole time, or a time of day of what is looked at."""

from __future__ import annotations

import datetime
import re

from moorage.apps.exit_status import WrongUse

_TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])(:([0-5][0-9])(\.[0-9]{1,6})?)?")


def parse_moment(text: str, option: str, begin: float | None = None) -> float:
    """Seconds since 1970 of ``2026-11-27T14:32:08Z``, or of ``14:32:08`` (UTC): the first one not
    before ``begin``, where that is given. Raises WrongUse.
    """
    if (time := _TIME_OF_DAY.fullmatch(text)) is not None and begin is not None:
        return _next(datetime.time.fromisoformat(time[0]), begin)
    try:
        found = datetime.datetime.fromisoformat(text)
        in_utc = found.astimezone(datetime.UTC) if found.tzinfo else found
    except (ValueError, OverflowError) as error:  # in UTC it may be of the year 10000, or 0
        example = "2026-11-27T14:32:08Z" + (" or 14:32:08" if begin is not None else "")
        raise WrongUse(f"{option} {text}: no time; write it as {example}") from error
    return in_utc.replace(tzinfo=datetime.UTC).timestamp()


def _next(time: datetime.time, begin: float) -> float:
    day = datetime.datetime.fromtimestamp(begin, datetime.UTC).date()
    found = datetime.datetime.combine(day, time, datetime.UTC).timestamp()
    return found if found >= int(begin) else found + 86_400
