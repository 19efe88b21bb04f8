"""Change logs: a reader gets every row that changed since it last looked, or is told to look at
all.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.change_log import Aspect, ChangeLog, ChangeReader

ROWS = 40


def logs() -> tuple[ChangeLog, ...]:
    """One for each aspect."""
    return tuple(ChangeLog() for _ in Aspect)


steps = st.lists(
    st.tuples(st.sampled_from(Aspect), st.integers(0, ROWS - 1)) | st.none(), max_size=60
)


@given(steps)
def test_reader_misses_nothing(steps: list[tuple[Aspect, int] | None]) -> None:
    """Rows of the reader's aspects since its last look (None in ``steps``), each once, ascending;
    all of them when there are many.
    """
    written = logs()
    reader = ChangeReader(written, frozenset({Aspect.TAINTS, Aspect.LABELS}))
    assert reader.catch_up(ROWS) is None
    news: list[int] = []
    for step in steps:
        if step is not None:
            aspect, row = step
            written[aspect].add(row)
            news += [row] if aspect in (Aspect.TAINTS, Aspect.LABELS) else []
            continue
        found = reader.catch_up(ROWS)
        assert (found is None) is (2 * len(news) > ROWS)
        assert found is None or found.tolist() == sorted(set(news))
        news = []


def test_what_was_cut_off_is_not_skipped() -> None:
    """A log keeps at least its newest 4,096 entries; who asks for older ones is told so."""
    log = ChangeLog()
    for row in range(8192):
        log.add(row)
    assert log.since(0) == list(range(8192))
    log.add(8192)
    assert log.since(0) is None
    assert log.since(4095) is None
    assert log.since(4096) == list(range(4096, 8193))
    assert log.since(log.version) == []


def test_reader_that_lags_behind_a_cut_looks_at_all() -> None:
    """However large the table."""
    written = logs()
    reader = ChangeReader(written, frozenset({Aspect.TAINTS}))
    reader.catch_up(10**6)
    for row in range(8193):
        written[Aspect.TAINTS].add(row)
    assert reader.catch_up(10**6) is None
    assert reader.catch_up(10**6) is not None


def test_new_reader_looks_at_all() -> None:
    """Also when nothing was ever written."""
    assert ChangeReader(logs(), frozenset({Aspect.IMAGES})).catch_up(0) is None
