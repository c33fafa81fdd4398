"""HTML fragments for notebooks: a curve and a table, for light and dark themes.

They use the surrounding text colour, contain no scripts and load nothing. All text is escaped
here.
"""

import math
from collections.abc import Sequence
from html import escape

ACCENT = "#2b8cc4"  # can be read on white and on black
ROWS_SHOWN = 12  # rows of a table
LONGEST_CELL = 160  # characters of a cell
W, H = 340, 110

Curve = tuple[Sequence[int], Sequence[float]]


def piece(title: str, parts: Sequence[str]) -> str:
    """Return HTML parts in a box with a title."""
    head = f'<div style="font-weight:600;margin-bottom:4px">{escape(title)}</div>'
    return f'<div style="max-width:60em;line-height:1.4">{head}{"".join(parts)}</div>'


def sentence(text: str) -> str:
    """Return a line of plain text."""
    return f'<div style="margin:2px 0">{escape(text)}</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], marked: int | None = None) -> str:
    """Return a table; a long one is shortened to its first rows and those around the marked row.

    >>> table(["size"], [["<1>"], ["2"]], marked=1).count("&lt;1&gt;")
    1
    """
    kept = range(len(rows))
    if len(rows) > ROWS_SHOWN:
        about = range(max((marked or 0) - 2, 0), min((marked or 0) + 3, len(rows)))
        kept = sorted({*range(ROWS_SHOWN - len(about)), *about, len(rows) - 1})  # type: ignore[assignment]
    border = "text-align:left;border-bottom:1px solid #8886;padding:2px 8px"
    titles = "".join(f'<th style="{border}">{escape(h)}</th>' for h in head)
    lines, before = [f"<tr>{titles}</tr>"], -1
    beside = f'<tr style="box-shadow:inset 3px 0 {ACCENT}">'
    for i in kept:
        if i > before + 1:
            lines.append(f'<tr><td colspan="{len(head)}" style="{border}">...</td></tr>')
        before = i
        bold = "font-weight:600;" * (i == marked)
        cells = [f'<td style="{bold}{border}">{_cell(text)}</td>' for text in rows[i]]
        lines.append(beside if i == marked else "<tr>")
        lines += [*cells, "</tr>"]
    return f'<table style="border-collapse:collapse;margin-top:6px">{"".join(lines)}</table>'


def _cell(text: str) -> str:
    return escape(text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}...")


def curves(lines: Sequence[Curve], marked: tuple[int, float] | None, label: str) -> str:
    """Draw errors against sizes; the first line is emphasised."""
    points = [
        [(k, e) for k, e in zip(*line, strict=True) if e is not None and math.isfinite(e)]
        for line in lines
    ]
    every = [point for line in points for point in line]
    if len(every) < 2:
        return ""
    last = max(k for k, _ in every) or 1
    low, high = min(e for _, e in every), max(e for _, e in every)

    def at(k: float, e: float) -> str:
        return f"{6 + k / last * (W - 12):.1f},{6 + (high - e) / (high - low or 1) * (H - 24):.1f}"

    drawn = []
    for i, line in enumerate(points):
        stroke = "currentColor;stroke-dasharray:4 3;opacity:.6" if i else f"{ACCENT};stroke-width:2"
        places = " ".join(at(k, e) for k, e in line)
        drawn.append(f'<polyline points="{places}" style="fill:none;stroke:{stroke}"/>')
    if marked is not None:
        x, y = at(*marked).split(",")
        drawn.append(f'<circle cx="{x}" cy="{y}" r="4" style="fill:{ACCENT}"/>')
    text = 'style="font:11px sans-serif;fill:currentColor"'
    return (
        f'<svg viewBox="0 0 {W} {H}" width="{W}" height="{H}" role="img" '
        f'aria-label="{escape(label)}"><title>{escape(label)}</title>{"".join(drawn)}'
        f'<text x="6" y="{H - 3}" {text}>0</text>'
        f'<text x="{W - 6}" y="{H - 3}" text-anchor="end" {text}>{last} features</text></svg>'
    )
