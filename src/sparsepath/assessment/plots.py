"""Plots of resampling results."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from sparsepath.path.plots import BLUE, GREY, _figure, _label, _size_axis, plot_path
from sparsepath.system.arrays import Axes, Figure

MOST_SHOWN = 30  # features shown


def plot_null(
    sizes: Sequence[int],
    errors: NDArray[np.float64],
    null_errors: NDArray[np.float64],
    criterion: str,
    title: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw the errors on the data and the range of errors on permuted targets."""
    if ax is None:
        ax = _figure(3.6).add_subplot()
    low, middle, high = np.quantile(null_errors, [0.05, 0.5, 0.95], axis=0)
    ax.fill_between(sizes, low, high, color=GREY, alpha=0.2, linewidth=0, label="y shuffled, 90 %")
    ax.plot(sizes, middle, color=GREY, linestyle="--", linewidth=1.2, label="y shuffled, median")
    ax.plot(sizes, errors, color=BLUE, marker="o", markersize=3.5, label="the data")
    ax.set(ylabel="\n(".join(criterion.rsplit(" (", 1)), title=title)
    ax.legend(frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    _size_axis(ax)
    return ax


def plot_stability(
    sizes: Sequence[int],
    frequencies: NDArray[np.float64],
    feature_names: Sequence[str],
    ax: Axes | None = None,
) -> Axes:
    """Draw how often the most frequent features were chosen, by size."""
    from matplotlib.colors import LinearSegmentedColormap

    highest = frequencies.max(0)
    rows = np.lexsort((np.arange(len(highest)), -frequencies.mean(0)))[:MOST_SHOWN]
    rows = rows[highest[rows] > 0]
    if ax is None:
        ax = _figure(1.2 + 0.24 * max(len(rows), 4)).add_subplot()
    shades = LinearSegmentedColormap.from_list("frequency", ["#EEF1F4", BLUE])
    mesh = ax.pcolormesh(
        np.arange(len(sizes) + 1) - 0.5,
        np.arange(len(rows) + 1) - 0.5,
        frequencies[:, rows].T,
        cmap=shades,
        vmin=0,
        vmax=1,
        edgecolors="white",
        linewidth=0.5 if len(sizes) <= 60 else 0,
    )
    ax.set_xticks(range(len(sizes)), list(map(str, sizes)))
    ax.set_yticks(range(len(rows)), [_label(feature_names[i]) for i in rows])
    ax.set(ylim=(max(len(rows), 1) - 0.5, -0.5), xlabel="number of features")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.figure.colorbar(mesh, ax=ax, label="part of the runs", pad=0.02)
    return ax


def plot_contest(
    curves: Mapping[str, tuple[Sequence[int], NDArray[np.float64], int]],
    label: str,
    empty: float,
    maps: Mapping[str, tuple[Sequence[int], NDArray[np.bool_]]],
    names: Sequence[str],
) -> Figure:
    """Draw the honest errors of several methods on one axis, and below their selected features.

    ``curves`` are (sizes, errors, chosen size) by name, ``maps`` (sizes, matrix of selected
    features); ``empty`` is the error of the empty model. Only features that a method selects at
    some size are shown.
    """
    across = min(3, len(maps))
    down = math.ceil(len(maps) / across)
    ever = np.flatnonzero(np.any([matrix.any(0) for _, matrix in maps.values()], axis=0))[
        :MOST_SHOWN
    ]
    tall = 1.3 + 0.2 * max(len(ever), 4)
    figure = _figure(4.0 + tall * down)
    figure.set_figwidth(max(7.2, 4.0 * across))
    grid = figure.add_gridspec(1 + down, across, height_ratios=[4.0, *[tall] * down])
    ax = figure.add_subplot(grid[0, :])
    ax.axhline(empty, color=GREY, linestyle="--", linewidth=1.2, label="the empty model")
    markers = cycle("osD^v*")
    for name, (sizes, errors, chosen) in curves.items():
        marker, shown = next(markers), slice(None) if len(sizes) > 2 else slice(-1, None)
        of, at = np.asarray(sizes)[shown], errors[shown]  # of one size of its own: a point
        [line] = ax.plot(of, at, marker=marker, markersize=3.5, label=name, alpha=0.85)
        lies = errors[list(sizes).index(chosen)]
        ax.plot(chosen, lies, "o", markersize=11, fillstyle="none", color=line.get_color())
    highest = max(empty, *(float(np.nanmin(errors)) for _, errors, _ in curves.values()))
    lowest = min(float(np.nanmin(errors)) for _, errors, _ in curves.values())
    span = highest - lowest or abs(highest) or 1.0
    ax.set_ylim(lowest - 0.1 * span, highest + 0.3 * span)
    ax.set(ylabel=label, title="circles: the sizes that are chosen")
    ax.legend(frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    _size_axis(ax)
    for place, (name, (sizes, matrix)) in enumerate(maps.items()):
        below = figure.add_subplot(grid[1 + place // across, place % across])
        size = curves[name][2]
        marked = size if size in sizes else None
        plot_path(sizes, matrix[:, ever], [names[i] for i in ever], ax=below, chosen=marked)
        below.set_title(name, loc="left", fontsize="medium")
    return figure
