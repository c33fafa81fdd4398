"""HTML report of a comparison: a table, curves on one axis, features chosen by each method."""

from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsepath.methods.comparison import Comparison, Contestant
from sparsepath.report.page import MARK, policy
from sparsepath.system.number_format import brief

Place: TypeAlias = Callable[[float], float]

WIDE, NARROW = (720, 380), (340, 300)  # pixels; the narrow one is for phones
INDENT, RIGHT, TOP, BOTTOM = 64, 14, 14, 42
COLOURS = ("--accent", "--other", "--third", "--fourth", "--fifth", "--sixth")
DASHES = ("", "7 4", "2 3", "9 3 2 3")  # so that colour is not all that tells lines apart
MOST_IN_MAP = 60  # features shown in the map


def contest_page(
    found: Comparison, *, title: str, about: Sequence[str] = (), command: str = ""
) -> str:
    """Return one self-contained HTML report of a comparison, without scripts or network access."""
    style = (files("sparsepath.report") / "page.css").read_text("utf-8")
    best = found.best.chosen
    notes = found.notes()
    answer = "".join(f"<p>{escape(text)}</p>" for text in found.sentences())
    run = f"<dl><dt>Command</dt><dd>{escape(command)}</dd></dl>" if command else ""
    log = " The scale is logarithmic." if _is_logarithmic(found) else ""
    label = f"{found.axis} on samples left out ({best.validation}, the same for all)"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{policy()}
<meta name="viewport" content="width=device-width, initial-scale=1">
{MARK}
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
<section class="card answer" aria-label="The answer">{answer}</section>

<section class="card" aria-labelledby="h-table">
<h2 id="h-table">The methods, the best first</h2>
<div class="scroll tall" role="group" tabindex="0" aria-labelledby="h-table">{_table(found)}</div>
</section>

<section class="card" aria-labelledby="h-curves">
<h2 id="h-curves">Error against number of features</h2>
<figure><div class="scroll drawn" role="group" tabindex="0" aria-labelledby="h-curves">
{_curves(found, WIDE, "wide-only")}{_curves(found, NARROW, "narrow-only")}</div>
<figcaption>{escape(label[0].upper() + label[1:])}. Dots mark the sizes chosen, the band is the
standard error of {escape(found.best.name)}.{log}</figcaption>
</figure>
<ul class="keys">{_keys(found)}</ul>
</section>

<section class="card" aria-labelledby="h-map">
<h2 id="h-map">Who takes which feature, and at what size it comes in</h2>
<p class="soft">{escape(_agreed(found))}</p>
<div class="scroll map" role="group" tabindex="0" aria-labelledby="h-map">{_map(found)}</div>
</section>

<section class="card" aria-labelledby="h-run">
<h2 id="h-run">Data and run</h2>
<ul>{"".join(f"<li>{escape(text)}</li>" for text in [*about, *notes])}</ul>
{run}
</section>
</main>
</body>
</html>
"""


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Return head and body of a table, with roles, because phones show rows as blocks."""

    def cell(tag: str, column: int, text: str, role: str, scope: str = "") -> str:
        kind = ' class="number"' if column in numbers else ""
        return (
            f'<{tag}{kind}{scope} role="{role}" data-head="{escape(head[column])}">'
            f"{escape(text)}</{tag}>"
        )

    titles = [cell("th", c, t, "columnheader", ' scope="col"') for c, t in enumerate(head)]
    body = []
    for first, *others in rows:
        cells = [cell("th", 0, first, "rowheader", ' scope="row"')]
        cells += [cell("td", c, text, "cell") for c, text in enumerate(others, 1)]
        body.append(f'<tr role="row">{"".join(cells)}</tr>')
    return (
        f'<thead role="rowgroup"><tr role="row">{"".join(titles)}</tr></thead>'
        f'<tbody role="rowgroup">{"".join(body)}</tbody>'
    )


def _table(found: Comparison) -> str:
    body = _rows([*found.head, "features"], found.rows(), (1, 2, 3, 4, 5))
    return f'<table class="stacked" role="table" aria-labelledby="h-table">{body}</table>'


def _stroke(place: int) -> str:
    dash = DASHES[place // len(COLOURS) % len(DASHES)] or DASHES[place % len(DASHES)]
    dashed = f";stroke-dasharray:{dash}" if dash else ""
    return f"stroke:var({COLOURS[place % len(COLOURS)]}){dashed}"


def _marks(low: float, high: float) -> list[float]:
    """Return some round numbers between two.

    >>> _marks(3016, 5100), _marks(0.11, 0.19), _marks(2, 2)
    ([3500.0, 4000.0, 4500.0, 5000.0], [0.12, 0.14, 0.16, 0.18], [2])
    """
    if not high > low:
        return [low]
    unit = 10.0 ** np.floor(np.log10((high - low) / 4))
    step = next(unit * times for times in (5, 2, 1) if high - low >= 3 * unit * times or times == 1)
    first, last = int(np.ceil(low / step)), int(np.floor(high / step))
    return [float(f"{count * step:.6g}") for count in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Return some round numbers for a logarithmic axis.

    >>> _decades(0.04, 0.9), _decades(1, 1e6)
    ([0.05, 0.1, 0.2, 0.5], [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0])
    """
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    times = (1,) if high > 1e3 * low else (1, 2, 5)
    every = [float(f"{m}e{power}") for power in powers for m in times]
    return [value for value in every if low <= value <= high]


def _is_logarithmic(found: Comparison) -> bool:
    """Return whether one error, such as that of the empty model, would compress all others."""
    errors = _errors(found)
    return bool(errors.min() > 0 and errors.max() > 10 * errors.min())


def _errors(found: Comparison) -> NDArray[np.float64]:
    errors = np.concatenate([one.left_out.errors for one in found.contestants])
    return found.shown(errors[np.isfinite(errors)])


def _curves(found: Comparison, size: tuple[int, int], shown: str) -> str:
    width, height = size
    errors, logarithmic = _errors(found), _is_logarithmic(found)
    least, most = float(errors.min()), float(errors.max())
    low, high = (np.log10(least), np.log10(most)) if logarithmic else (least, most)
    room = 0.05 * (high - low or abs(high) or 1.0)
    last = max(max(one.left_out.sizes) for one in found.contestants) or 1

    def x(size: float) -> float:
        return INDENT + size / last * (width - INDENT - RIGHT)

    def y(error: float) -> float:
        at = np.log10(max(error, least / 3)) if logarithmic else error
        at = min(max(at, low - room), high + room)
        return float(TOP + (high + room - at) / (high - low + 2 * room) * (height - TOP - BOTTOM))

    parts = [_band(found, x, y)]
    for value in _decades(least, most) if logarithmic else _marks(least, most):
        at = f"{y(value):.1f}"
        parts.append(f'<line x1="{INDENT}" x2="{width - RIGHT}" y1="{at}" y2="{at}" class="grid"/>')
        parts.append(
            f'<text x="{INDENT - 8}" y="{at}" dy="4" text-anchor="end">{brief(value)}</text>'
        )
    for mark in sorted({round(mark) for mark in _marks(0, last)}):
        parts.append(
            f'<text x="{x(mark):.1f}" y="{height - 22}" text-anchor="middle">{mark}</text>'
        )
    parts.append(
        f'<text x="{width / 2}" y="{height - 4}" text-anchor="middle">number of features</text>'
    )
    for place, one in enumerate(found.contestants):
        errors = found.shown(one.left_out.errors)
        pairs = zip(one.left_out.sizes, errors, strict=True)
        points = " ".join(f"{x(s):.1f},{y(e):.1f}" for s, e in pairs if np.isfinite(e))
        chosen = one.left_out.sizes[one.place]
        style = _stroke(place)
        parts.append(
            f'<polyline points="{points}" style="fill:none;stroke-width:2;{style}">'
            f"<title>{escape(one.name)}</title></polyline>"
            f'<circle cx="{x(chosen):.1f}" cy="{y(float(errors[one.place])):.1f}" '
            f'r="5" style="fill:var({COLOURS[place % len(COLOURS)]})"/>'
        )
    label = "error of each method against the number of features; the table above has the numbers"
    return (
        f'<svg class="{shown}" viewBox="0 0 {width} {height}" style="max-width:{width}px" '
        f'role="img" aria-label="{label}">{"".join(parts)}</svg>'
    )


def _band(found: Comparison, x: Place, y: Place) -> str:
    """The standard error about the curve of the best method."""
    one = found.best.left_out
    ends = (found.shown(one.errors + sign * one.errors_se) for sign in (1, -1))
    each = [
        (s, u, v) for s, u, v in zip(one.sizes, *ends, strict=True) if np.isfinite([u, v]).all()
    ]
    above = [f"{x(s):.1f},{y(u):.1f}" for s, u, _ in each]
    below = [f"{x(s):.1f},{y(v):.1f}" for s, _, v in reversed(each)]
    return f'<polygon points="{" ".join(above + below)}" class="band"/>'


def _keys(found: Comparison) -> str:
    """Return the legend; it mentions lines that overlap."""
    return "".join(
        '<li><svg viewBox="0 0 30 8" width="30" height="8" aria-hidden="true"><line x1="0" '
        f'x2="30" y1="4" y2="4" style="stroke-width:2;{_stroke(place)}"/></svg> '
        f"{escape(one.name)}{escape(_under(found, place))}</li>"
        for place, one in enumerate(found.contestants)
    )


def _under(found: Comparison, place: int) -> str:
    one = found.contestants[place].left_out
    for other in found.contestants[:place]:
        drawn = other.left_out
        if one.sizes == drawn.sizes and np.allclose(one.errors, drawn.errors, rtol=1e-6, atol=0):
            return f", the same line as {other.name}"
    return ""


def _agreed(found: Comparison) -> str:
    common = ", ".join(found.common) or "none"
    return f"Selected by all {len(found.contestants)} methods: {common}."


def _map(found: Comparison) -> str:
    names = [one.name for one in found.contestants]
    features = list(found.agreement)
    rows = []
    for feature in features[:MOST_IN_MAP]:
        cells = [_entry(found, one, feature) for one in found.contestants]
        rows.append([feature, *cells, f"{len(found.agreement[feature])} of {len(names)}"])
    more = len(features) - MOST_IN_MAP
    foot = (
        f"<caption>and {more} more features selected by some method</caption>" if more > 0 else ""
    )
    body = _rows(["feature", *names, "taken by"], rows)
    return f'<table class="whole" role="table" aria-labelledby="h-map">{foot}{body}</table>'


def _entry(found: Comparison, one: Contestant, feature: str) -> str:
    """Return whether a method selects a feature, and the first size on its path that has it."""
    column = list(found.feature_names).index(feature)
    sizes = [size for size, subset in sorted(one.subsets.items()) if column in subset]
    if feature in one.features:
        return f"● from {sizes[0]}"
    return f"○ from {sizes[0]}" if sizes else ""
