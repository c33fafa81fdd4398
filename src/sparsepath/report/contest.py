"""The page of a comparison: one table, curves on one axis, who takes which feature."""

from collections.abc import Sequence
from html import escape
from importlib.resources import files

import numpy as np

from sparsepath.comparison import Comparison, Contestant
from sparsepath.report.page import MARK

W, H, LEFT, RIGHT, TOP, BOTTOM = 720, 380, 64, 14, 14, 42
COLOURS = ("--accent", "--other", "--third", "--fourth", "--fifth", "--sixth")
DASHES = ("", "7 4", "2 3", "9 3 2 3")  # so that colour is not all that tells lines apart
MOST_IN_MAP = 60  # features shown in the map


def contest_page(
    found: Comparison, *, title: str, about: Sequence[str] = (), command: str = ""
) -> str:
    """One self-contained HTML page of a comparison, without any code and without network."""
    style = (files("sparsepath.report") / "page.css").read_text("utf-8")
    best = found.best.chosen
    notes = found.notes()
    run = f"<dl><dt>Command</dt><dd>{escape(command)}</dd></dl>" if command else ""
    label = f"{best.measure} on samples left out ({best.validation}, the same for all)"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{MARK}
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
<section class="card answer" aria-label="The answer"><p>{escape(found.sentence())}</p></section>

<section class="card" aria-labelledby="h-table">
<h2 id="h-table">The methods, the best first</h2>
<div class="scroll" role="group" tabindex="0" aria-labelledby="h-table">{_table(found)}</div>
</section>

<section class="card" aria-labelledby="h-curves">
<h2 id="h-curves">Error against number of features</h2>
<figure>{_curves(found)}
<figcaption>{escape(label[0].upper() + label[1:])}. Dots mark the sizes chosen.</figcaption>
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


def _row(cells: Sequence[str], numbers: Sequence[int], head: bool = False) -> str:
    made = []
    for i, cell in enumerate(cells):
        kind = ' class="number"' if i in numbers else ""
        if head:
            made.append(f'<th scope="col"{kind}>{escape(cell)}</th>')
        elif i == 0:
            made.append(f'<th scope="row"{kind}>{escape(cell)}</th>')
        else:
            made.append(f"<td{kind}>{escape(cell)}</td>")
    return f"<tr>{''.join(made)}</tr>"


def _table(found: Comparison) -> str:
    numbers = (1, 2, 3, 4, 5)
    head = ["method", "size", found.best.chosen.measure, "90 % interval", "more than the best"]
    rows = [_row([*head, "seconds", "features"], numbers, head=True)]
    for one in found.contestants:
        low, high = one.chosen.interval
        gap, se = found.gap(one.name)
        cells = [one.name, str(one.chosen.size), f"{one.chosen.error:.4g}"]
        cells += [f"{low:.4g} to {high:.4g}"]
        cells += ["" if one is found.best else f"{gap:.3g} ± {se:.2g}", f"{one.seconds:.2g}"]
        rows.append(_row([*cells, ", ".join(one.features)], numbers))
    return f"<table><thead>{rows[0]}</thead><tbody>{''.join(rows[1:])}</tbody></table>"


def _stroke(place: int) -> str:
    dash = DASHES[place // len(COLOURS) % len(DASHES)] or DASHES[place % len(DASHES)]
    dashed = f";stroke-dasharray:{dash}" if dash else ""
    return f"stroke:var({COLOURS[place % len(COLOURS)]}){dashed}"


def _marks(low: float, high: float) -> list[float]:
    """Some round numbers between two.

    >>> _marks(3016, 5100), _marks(0.11, 0.19), _marks(2, 2)
    ([3500.0, 4000.0, 4500.0, 5000.0], [0.12, 0.14, 0.16, 0.18], [2])
    """
    if not high > low:
        return [low]
    unit = 10.0 ** np.floor(np.log10((high - low) / 4))
    step = next(unit * times for times in (5, 2, 1) if high - low >= 3 * unit * times or times == 1)
    first, last = int(np.ceil(low / step)), int(np.floor(high / step))
    return [float(f"{count * step:.6g}") for count in range(first, last + 1)]


def _curves(found: Comparison) -> str:
    errors = np.concatenate([one.left_out.errors for one in found.contestants])
    errors = errors[np.isfinite(errors)]
    low, high = float(errors.min()), float(errors.max())
    room = 0.05 * (high - low or abs(high) or 1.0)
    last = max(max(one.left_out.sizes) for one in found.contestants) or 1

    def x(size: float) -> float:
        return LEFT + size / last * (W - LEFT - RIGHT)

    def y(error: float) -> float:
        return TOP + (high + room - error) / (high - low + 2 * room) * (H - TOP - BOTTOM)

    parts = []
    for value in _marks(low, high):
        at = f"{y(value):.1f}"
        parts.append(f'<line x1="{LEFT}" x2="{W - RIGHT}" y1="{at}" y2="{at}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at}" dy="4" text-anchor="end">{value:.4g}</text>')
    for size in range(0, last + 1, -(-last // 10)):
        parts.append(f'<text x="{x(size):.1f}" y="{H - 22}" text-anchor="middle">{size}</text>')
    parts.append(f'<text x="{W / 2}" y="{H - 4}" text-anchor="middle">number of features</text>')
    for place, one in enumerate(found.contestants):
        pairs = zip(one.left_out.sizes, one.left_out.errors, strict=True)
        points = " ".join(f"{x(s):.1f},{y(e):.1f}" for s, e in pairs if np.isfinite(e))
        size = one.left_out.sizes[one.place]
        style = _stroke(place)
        parts.append(
            f'<polyline points="{points}" style="fill:none;stroke-width:2;{style}">'
            f"<title>{escape(one.name)}</title></polyline>"
            f'<circle cx="{x(size):.1f}" cy="{y(float(one.left_out.errors[one.place])):.1f}" '
            f'r="5" style="fill:var({COLOURS[place % len(COLOURS)]})"/>'
        )
    return (
        f'<svg viewBox="0 0 {W} {H}" style="max-width:{W}px" role="img" aria-label="error of each '
        f'method against the number of features; the table above has the numbers">'
        f"{''.join(parts)}</svg>"
    )


def _keys(found: Comparison) -> str:
    return "".join(
        '<li><svg viewBox="0 0 30 8" width="30" height="8" aria-hidden="true"><line x1="0" '
        f'x2="30" y1="4" y2="4" style="stroke-width:2;{_stroke(place)}"/></svg> '
        f"{escape(one.name)}</li>"
        for place, one in enumerate(found.contestants)
    )


def _agreed(found: Comparison) -> str:
    common = ", ".join(found.common) or "none"
    return f"Taken by all {len(found.contestants)} methods: {common}."


def _map(found: Comparison) -> str:
    names = [one.name for one in found.contestants]
    features = list(found.agreement)
    rows = [_row(["feature", *names, "taken by"], (), head=True)]
    for feature in features[:MOST_IN_MAP]:
        cells = [_entry(found, one, feature) for one in found.contestants]
        taken = f"{len(found.agreement[feature])} of {len(names)}"
        rows.append(_row([feature, *cells, taken], ()))
    more = len(features) - MOST_IN_MAP
    foot = f"<caption>and {more} more features that some method takes</caption>" if more > 0 else ""
    return f"<table>{foot}<thead>{rows[0]}</thead><tbody>{''.join(rows[1:])}</tbody></table>"


def _entry(found: Comparison, one: Contestant, feature: str) -> str:
    """Whether a method takes a feature, and the size from which on its path has it."""
    column = list(found.feature_names).index(feature)
    sizes = [size for size, subset in sorted(one.subsets.items()) if column in subset]
    if feature in one.features:
        return f"● from {sizes[0]}"
    return f"○ from {sizes[0]}" if sizes else ""
