"""The page: an answer as one file of HTML, with nothing to load and no script."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from moorage.apps.simulate.simulation_answers import Answer, AnswerTable, Chart

_WIDTH, _HEIGHT, _MARGIN = 420, 120, 8
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem;
  padding: 0 1rem; color: #1c2430; background: #fff; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin-bottom: .2rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .15rem 1rem .15rem 0; border-bottom: 1px solid #dde3ea; }
th { font-weight: 600; color: #5a6675; } .number { text-align: right; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem 2rem; } svg { background: #f6f8fa; }
.a { stroke: #5a6675; fill: none; stroke-width: 1.5; stroke-dasharray: 4 3; }
.b { stroke: #0b63c5; fill: none; stroke-width: 2; } figure { margin: 0; }
figcaption { color: #5a6675; font-size: .85rem; }
"""


def page(answer: Answer, title: str) -> str:
    """The whole page."""
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{html.escape(answer.headline)}</h1>",
            *(_table(table) for table in answer.tables),
            *_charts(answer.charts),
            *(f"<p>{html.escape(note)}</p>" for note in answer.notes),
            "</body></html>\n",
        )
    )


def _table(table: AnswerTable) -> str:
    kinds = [' class="number"' if one in table.numbers else "" for one in table.columns]
    head = "".join(
        f"<th{kind}>{html.escape(one)}</th>" for one, kind in zip(table.columns, kinds, strict=True)
    )
    rows = ("".join(map(_cell, row, kinds)) for row in table.rows)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str, kind: str) -> str:
    return f"<td{kind}>{html.escape(text)}</td>"


def _charts(charts: Sequence[Chart]) -> Iterator[str]:
    if charts:
        yield "<h2>Window by window: A dashed, B solid</h2>"
        yield f'<div class="charts">{"".join(map(_chart, charts))}</div>'


def _chart(chart: Chart) -> str:
    known = [one for values in chart.series.values() for one in values if one is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    lines = "".join(
        f'<polyline class="{name.lower()}" points="{_points(values, low, high)}"/>'
        for name, values in chart.series.items()
    )
    title = html.escape(chart.title)
    label = f'role="img" aria-label="{title}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    picture = f'<svg {label} width="{_WIDTH}" height="{_HEIGHT}">{lines}</svg>'
    ends = f"<figcaption>{low:,.4g} to {high:,.4g}</figcaption>"
    return f"<figure><h2>{title}</h2>{picture}{ends}</figure>"


def _points(values: Sequence[float | None], low: float, high: float) -> str:
    """Of a line, left to right; windows without a value are left out."""
    wide, tall = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
    step, span = wide / max(1, len(values) - 1), (high - low) or 1.0
    return " ".join(
        f"{_MARGIN + i * step:.1f},{_MARGIN + tall * (1 - (value - low) / span):.1f}"
        for i, value in enumerate(values)
        if value is not None
    )
