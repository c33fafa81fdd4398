"""A picture of a grown network."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sparsepath.grafting.network import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE = "#0072B2", "#D55E00"


def plot_network(network: Network, names: Sequence[str], *, ax: "Axes | None" = None) -> "Axes":
    """Draw which features feed which unit: blue for positive weights, orange for negative.

    Parameters
    ----------
    network : Network
        What to draw.
    names : sequence of str
        Names of all features.
    ax : matplotlib Axes, optional
        Where to draw; without it a figure is made.
    """
    from matplotlib.figure import Figure

    used = network.used.tolist()
    rows = max(len(used), network.n_hidden, 1)
    if ax is None:
        ax = Figure(figsize=(6.4, 1.2 + 0.3 * rows), layout="constrained").add_subplot()
    from_ = dict(zip(used, _places(len(used), rows), strict=True))
    to = _places(network.n_hidden, rows)
    largest = np.abs(network.weights).max(initial=1e-300)
    middle = (rows - 1) / 2
    for unit, feature, weight in zip(
        network.units.tolist(), network.features.tolist(), network.weights.tolist(), strict=True
    ):
        ax.plot(
            [0, 1],
            [from_[feature], to[unit]],
            color=BLUE if weight > 0 else ORANGE,
            linewidth=0.5 + 2.5 * abs(weight) / largest,
            zorder=1,
        )
    for place in to:
        ax.plot([1, 1.6], [place, middle], color="#BBBBBB", linewidth=0.8, zorder=0)
    ax.scatter([0] * len(used), list(from_.values()), color="black", s=18, zorder=2)
    ax.scatter([1] * len(to), to, color="white", edgecolors="black", s=60, zorder=2)
    ax.scatter([1.6], [middle], color="black", marker="s", s=40, zorder=2)
    for feature, place in from_.items():
        ax.text(-0.05, place, names[feature].replace("$", r"\$"), ha="right", va="center")
    ax.set(xlim=(-0.6, 1.7), ylim=(rows - 0.5, -0.5))
    ax.set_title(f"{len(used)} features, {network.n_hidden} hidden units", fontsize="medium")
    ax.set_axis_off()
    return ax


def _places(count: int, rows: int) -> list[float]:
    """Heights of so many points, spread over the rows."""
    return [(i + 0.5) * rows / count - 0.5 for i in range(count)]
