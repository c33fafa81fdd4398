"""Pictures of RBF networks: the weights of the inputs, and errors over the two budgets."""

import math
from collections.abc import Sequence

import numpy as np

from sparsepath.path.plots import BLUE, ORANGE, _figure, _label
from sparsepath.system.arrays import Axes, Floats

MOST_NAMED = 40  # names that fit below the bars of a figure


def plot_weights(
    shares: Floats, names: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the weights of all inputs as bars; of many inputs only some are named."""
    if ax is None:
        ax = _figure(3.2).add_subplot()
    named = range(0, len(shares), math.ceil(len(shares) / MOST_NAMED) or 1)
    ax.bar(np.arange(len(shares)), shares, color=BLUE)
    labels = [f"x{i}" if names is None else _label(str(names[i])) for i in named]
    ax.set_xticks(named, labels, rotation=90 if len(labels) > 12 else 0)
    ax.set(ylabel="share of the weights", xlabel="input")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_surface(
    rs: Floats,
    ts: Floats,
    values: Floats,
    label: str,
    chosen: tuple[float, float],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw values (len(rs) x len(ts)) over both budgets, logarithmic; a circle: the choice."""
    if ax is None:
        ax = _figure(4.2).add_subplot()
    mesh = ax.pcolormesh(_edges(ts), _edges(rs), values, cmap="viridis")
    ax.set(xscale="log", yscale="log", xlabel="t, budget of the weights")
    ax.set_ylabel("r, budget of the coefficients")
    ax.plot([chosen[1]], [chosen[0]], "o", color=ORANGE, markeredgecolor="white", markersize=9)
    figure = ax.get_figure()
    assert figure is not None
    figure.colorbar(mesh, ax=ax, label=label)
    return ax


def _edges(values: Floats) -> Floats:
    """Cell edges half-way between the values on a logarithmic scale."""
    if len(values) == 1:
        return np.array([values[0] / 2, values[0] * 2])
    logs = np.log(values)
    half = np.diff(logs) / 2
    return np.exp(np.concatenate([[logs[0] - half[0]], logs[:-1] + half, [logs[-1] + half[-1]]]))
