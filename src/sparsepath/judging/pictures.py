"""Pictures of what resampling found."""

from typing import TYPE_CHECKING

import numpy as np

from sparsepath.plots import BLUE, GREY, _figure, _label, _size_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sparsepath.judging.halves import Stability
    from sparsepath.judging.null import Null

MOST = 30  # features shown


def plot_null(found: "Null", ax: "Axes | None" = None) -> "Axes":
    """Errors of the search on the data, and the range of those on shuffled targets."""
    if ax is None:
        ax = _figure(3.6).add_subplot()
    low, middle, high = np.quantile(found.null_errors, [0.05, 0.5, 0.95], axis=0)
    sizes = list(found.sizes)
    ax.fill_between(sizes, low, high, color=GREY, alpha=0.2, linewidth=0, label="y shuffled, 90 %")
    ax.plot(sizes, middle, color=GREY, linestyle="--", linewidth=1.2, label="y shuffled, median")
    ax.plot(sizes, found.errors, color=BLUE, marker="o", markersize=3.5, label="the data")
    ax.set(ylabel=found.criterion, title=f"p = {found.p_value:.3g}")
    ax.legend(frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    _size_axis(ax)
    return ax


def plot_stability(found: "Stability", ax: "Axes | None" = None) -> "Axes":
    """How often features were chosen, by size: the most frequent ones."""
    from matplotlib.colors import LinearSegmentedColormap

    highest = found.frequencies.max(0)
    rows = np.lexsort((np.arange(len(highest)), -found.frequencies.mean(0)))[:MOST]
    rows = rows[highest[rows] > 0]
    if ax is None:
        ax = _figure(1.2 + 0.24 * max(len(rows), 4)).add_subplot()
    shades = LinearSegmentedColormap.from_list("frequency", ["#EEF1F4", BLUE])
    mesh = ax.pcolormesh(
        np.arange(len(found.sizes) + 1) - 0.5,
        np.arange(len(rows) + 1) - 0.5,
        found.frequencies[:, rows].T,
        cmap=shades,
        vmin=0,
        vmax=1,
        edgecolors="white",
        linewidth=0.5 if len(found.sizes) <= 60 else 0,
    )
    ax.set_xticks(range(len(found.sizes)), list(map(str, found.sizes)))
    ax.set_yticks(range(len(rows)), [_label(found.feature_names[i]) for i in rows])
    ax.set(ylim=(max(len(rows), 1) - 0.5, -0.5), xlabel="number of features")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.figure.colorbar(mesh, ax=ax, label="part of the runs", pad=0.02)
    return ax
