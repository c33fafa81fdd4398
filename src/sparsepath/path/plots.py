"""Plots of a selection path: selected features and errors by size."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from sparsepath.system.arrays import Axes, Figure, Flags, Floats, Indices

# Okabe and Ito's colours, which the colour-blind can tell apart.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
PALE = "#8FC1DE"  # blue, of what is not in the set that is meant
EMPTY = "#EEF1F4"
# For each rule what the legend says, a colour and a marker; both markers can be seen on one point.
_AROUND = {
    "marker": "s",
    "zorder": 4,
    "markersize": 11,
    "fillstyle": "none",
    "markeredgewidth": 1.8,
}
MARKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "min": ("least error", ORANGE, {"marker": "o", "markersize": 7, "zorder": 5}),
    "one_se": ("one-standard-error rule", GREEN, _AROUND),
    "chosen": ("chosen", GREEN, _AROUND),
}
ALL_SHOWN = 30  # up to here all features are shown, in their own order
LONGEST_NAME = 28  # characters of a name
TALL = 18.0  # inches that a path alone may take, so that a hundred names can be read
LOGARITHMIC = 10  # times the least error, above which the largest makes the scale logarithmic


def plot_path(
    sizes: Sequence[int],
    matrix: Flags,
    names: Sequence[str],
    *,
    ax: Axes | None = None,
    chosen: int | None = None,
    all_features: bool = False,
) -> Axes:
    """Draw the feature selection path: sizes on x, features on y, a filled cell if selected.

    ``matrix`` is sizes x names. Up to 30 features, or with ``all_features`` any number, are shown
    in column order. Otherwise only features that are selected at some size are shown, in order of
    first entry. With a ``chosen`` size, its features are dark and the others pale. Without ``ax``
    a figure is created.
    """
    from matplotlib.colors import ListedColormap

    rows = np.arange(len(names)) if all_features else _rows(matrix)
    if ax is None:
        ax = _figure(_path_height(len(rows), TALL)).add_subplot()
    shown, colours = matrix[:, rows].T, [EMPTY, BLUE]
    if chosen is not None:
        inside = shown[:, list(sizes).index(chosen)]
        shown, colours = np.where(inside[:, None], 2, 1) * shown, [EMPTY, PALE, BLUE]
    edges = _edges(sizes)
    fine = len(rows) <= 2 * ALL_SHOWN and len(sizes) <= 2 * ALL_SHOWN
    ax.pcolormesh(
        edges,
        np.arange(len(rows) + 1) - 0.5,
        shown,
        cmap=ListedColormap(colours),
        vmin=0,
        vmax=len(colours) - 1,
        edgecolors="white" if fine else "none",
        linewidth=1.0 if fine else 0,
        antialiased=fine,
    )
    ax.set(xlim=edges[[0, -1]], ylim=(max(len(rows), 1) - 0.5, -0.5), ylabel="feature")
    ax.tick_params(length=0)
    _name_rows(ax, [_label(names[i]) for i in rows])
    ax.spines[:].set_visible(False)
    if left_out := len(names) - len(rows):
        ax.set_title(
            f"{left_out} of {len(names)} never selected, not shown",
            loc="right",
            fontsize="small",
            color=GREY,
        )
    if chosen is not None:
        ax.axvline(chosen, color=GREEN, linewidth=1.4, linestyle="--")
        said = f"chosen: size {chosen}"
        ax.set_title(said, loc="left", fontsize="small", color=GREEN)
    _size_axis(ax)
    return ax


class Curve(NamedTuple):
    """Errors by size, prepared for drawing."""

    sizes: Sequence[int]
    errors: Floats
    errors_se: Floats  # NaN where they are not known
    label: str  # what the errors are, and of which kind, for the axis
    chosen: Mapping[str, int]  # sizes to mark, by "min", "one_se" or "chosen"
    beside: tuple[str, Floats] | None = None  # another error, and what it is: a thin dashed line


def plot_curve(curve: Curve, *, ax: Axes | None = None, log: bool | None = None) -> Axes:
    """Draw the sparsity-error trade-off (SET) curve: error against size.

    The band is plus or minus one standard error. The error axis is logarithmic if ``log`` is True,
    or by default if the largest error is more than ten times the smallest. Infinite errors are
    triangles at the upper edge. Without ``ax`` a figure is created.
    """
    sizes, errors, errors_se, label, chosen, beside = curve
    if ax is None:
        ax = _figure(3.6).add_subplot()
    k = np.asarray(sizes)
    finite = np.isfinite(errors)
    seen = np.where(finite, errors, np.nan)
    dotted: dict[str, Any] = {"marker": "o", "markersize": 3.5} if len(k) <= 2 * ALL_SHOWN else {}
    ax.plot(k, seen, color=BLUE, linewidth=1.6, zorder=3, **dotted)
    if np.isfinite(errors_se).any():
        ax.fill_between(
            k,
            seen - errors_se,
            seen + errors_se,
            color=BLUE,
            alpha=0.18,
            linewidth=0,
            label="± one standard error",
        )
    if beside is not None:
        other = np.where(np.isfinite(beside[1]), beside[1], np.nan)
        ax.plot(k, other, color=GREY, linewidth=1.0, linestyle="--", zorder=2, label=beside[0])
    for rule, size in chosen.items():
        text, colour, style = MARKS[rule]
        at = seen[np.flatnonzero(k == size)]
        ax.plot([size], at, color=colour, linestyle="none", label=f"{text}: size {size}", **style)
    if not finite.all():
        ax.plot(
            k[~finite],
            np.ones((~finite).sum()),
            transform=ax.get_xaxis_transform(),
            color=GREY,
            marker="^",
            linestyle="none",
            clip_on=False,
            label="infinite",
        )
    if finite.any() and errors[finite].min() > 0:
        wide = LOGARITHMIC * errors[finite].min() < errors[finite].max()
        if wide if log is None else log:
            _logarithmic(ax)
    ax.set(xlim=_edges(sizes)[[0, -1]], ylabel="\n(".join(label.rsplit(" (", 1)))
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(facecolor="white", edgecolor="none", framealpha=0.9, fontsize="small")
    _size_axis(ax)
    return ax


def plot_lines(
    lines: Mapping[str, tuple[Sequence[int], Floats]], label: str, *, ax: Axes | None = None
) -> Axes:
    """Draw several curves given as (sizes, errors) by name, from dark to light."""
    import matplotlib

    if ax is None:
        ax = _figure(3.6).add_subplot()
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(lines)))
    for (name, (sizes, errors)), colour in zip(lines.items(), colours, strict=True):
        seen = np.where(np.isfinite(errors), errors, np.nan)
        ax.plot(sizes, seen, color=colour, marker="o", markersize=3, linewidth=1.4, label=name)
    ax.set(ylabel=label)
    ax.legend(fontsize="small", frameon=False)
    _size_axis(ax)
    return ax


def plot(
    curve: Curve,
    matrix: Flags,
    names: Sequence[str],
    *,
    log: bool | None = None,
    all_features: bool = False,
) -> Figure:
    """Draw the curve above the path with a common size axis."""
    height = _path_height(len(names) if all_features else len(_rows(matrix)))
    figure = _figure(3.2 + height)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3.2, height])
    plot_curve(curve, ax=upper, log=log)
    plot_path(curve.sizes, matrix, names, ax=lower, all_features=all_features)
    upper.set_xlabel("")
    for rule, size in curve.chosen.items():
        for ax in (upper, lower):
            ax.axvline(size, color=MARKS[rule][1], linewidth=1.2, linestyle="--", zorder=2)
    return figure


def plot_comparison(
    paths: Mapping[str, tuple[Sequence[int], Flags, Sequence[str]]],
    curves: Mapping[str, Curve],
    judged: Mapping[str, tuple[Sequence[int], Floats]],
    label: str,
) -> Figure:
    """Draw the paths of several methods, their error curves, and errors by one metric, in panels.

    ``paths`` and ``curves`` are arguments of ``plot_path`` and ``plot_curve`` by name. ``judged``
    are comparable (sizes, errors), drawn in one panel without the empty model; ``label`` names
    them.
    """
    from matplotlib.figure import Figure

    count = len(paths) + len(curves) + 1
    across = min(3, count)
    down = math.ceil(count / across)
    height = max(_path_height(len(_rows(matrix))) for _, matrix, _ in paths.values())
    figure = Figure(figsize=(4.6 * across, max(3.4, height) * down), layout="constrained")
    panels = iter(figure.subplots(down, across, squeeze=False).flat)
    for (name, given), ax in zip(paths.items(), panels, strict=False):
        plot_path(*given, ax=ax)
        ax.set_title(f"path: {name}", loc="left", fontsize="medium")
    for (name, curve), ax in zip(curves.items(), panels, strict=False):
        plot_curve(curve, ax=ax)
        ax.set_title(f"own error: {name}", loc="left", fontsize="medium")
    last = next(panels)
    values = []
    for (name, (sizes, errors)), marker in zip(judged.items(), cycle("osD^v*"), strict=False):
        shown = np.asarray(sizes) > 0
        values.append(errors[shown])
        last.plot(
            np.asarray(sizes)[shown], values[-1], marker=marker, markersize=4, alpha=0.8, label=name
        )
    known = np.concatenate(values)
    if known.size and 0 < 10 * known.min() < known.max():
        last.set_yscale("log")
    last.set_title("judged alike", loc="left", fontsize="medium")
    last.set_ylabel("\n(".join(label.rsplit(" (", 1)))
    last.spines[["top", "right"]].set_visible(False)
    last.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    last.legend(fontsize="small", edgecolor="none")
    _size_axis(last)
    for ax in panels:
        ax.set_visible(False)
    return figure


def _figure(height: float) -> Figure:
    from matplotlib.figure import Figure  # not pyplot: no global state, nothing to close

    return Figure(figsize=(7.2, height), layout="constrained")


def _path_height(rows: int, most: float = 8.4) -> float:
    return min(max(0.9 + (0.25 if rows <= ALL_SHOWN else 0.18) * rows, 1.6), most)


def _rows(matrix: Flags) -> Indices:
    """Return the features to show: all if few, else those ever selected, in order of entry."""
    if matrix.shape[1] <= ALL_SHOWN:
        return np.arange(matrix.shape[1])
    ever = np.flatnonzero(matrix.any(axis=0))
    return ever[np.argsort(matrix[:, ever].argmax(axis=0), kind="stable")]


def _edges(sizes: Sequence[int]) -> Floats:
    """Return cell edges half-way between the sizes."""
    k = np.asarray(sizes, dtype=float)
    return np.concatenate([[k[0] - 0.5], (k[:-1] + k[1:]) / 2, [k[-1] + 0.5]])


def _label(name: str) -> str:
    """Return a one-line label, elided in the middle if long, with dollar signs escaped."""
    name = " ".join(name.split())
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - 10]}…{name[-9:]}"
    return name.replace("$", r"\$")


def _name_rows(ax: Axes, labels: Sequence[str]) -> None:
    """Label every s-th row, with s chosen at drawing time so that labels do not overlap."""
    from matplotlib.ticker import FuncFormatter, Locator

    named = dict(enumerate(labels))

    class SomeRows(Locator):
        def __call__(self) -> list[float]:
            room = 1.4 * ax.yaxis.get_tick_space()  # which gives a label twice its height
            return list(range(0, len(labels), math.ceil(len(labels) / max(room, 1)) or 1))

        def tick_values(self, vmin: float, vmax: float) -> list[float]:
            return self()

    ax.yaxis.set_major_locator(SomeRows())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: named.get(y, "")))
    ax.tick_params(axis="y", labelsize="small")


def _logarithmic(ax: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))


def _size_axis(ax: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    ax.set_xlabel("number of features")
