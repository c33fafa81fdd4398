"""A picture of a grown network."""

from collections.abc import Sequence

import numpy as np

from sparsepath.grafting.networks.network import HiddenLayer
from sparsepath.grafting.networks.softmax import SoftmaxNetwork
from sparsepath.path.plots import BLUE, ORANGE
from sparsepath.system.arrays import Axes, Floats


def plot_network(
    network: HiddenLayer,
    names: Sequence[str],
    *,
    classes: Sequence[str] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw which features feed which unit: blue for positive weights, orange for negative.

    Connections of weight 1 from units to their output are grey. ``names`` are those of all
    features, ``classes`` of the outputs, if there are several. Without ``ax`` a figure is made.
    """
    from matplotlib.figure import Figure

    used = network.used.tolist()
    several = network if isinstance(network, SoftmaxNetwork) else None
    homes = [0] * network.n_hidden if several is None else several.homes.tolist()
    n_outputs = 1 if several is None else several.n_outputs
    rows = max(len(used), network.n_hidden, n_outputs)
    if ax is None:
        ax = Figure(figsize=(6.4, 1.2 + 0.3 * rows), layout="constrained").add_subplot()
    from_ = dict(zip(used, _places(len(used), rows), strict=True))
    to = _places(network.n_hidden, rows)
    ends = _places(n_outputs, rows)

    def connect(xs: list[float], starts: list[float], stops: list[float], weights: Floats) -> None:
        largest = np.abs(weights).max(initial=1e-300)
        for start, stop, weight in zip(starts, stops, weights.tolist(), strict=True):
            colour, width = BLUE if weight > 0 else ORANGE, 0.5 + 2.5 * abs(weight) / largest
            ax.plot(xs, [start, stop], color=colour, linewidth=width, zorder=1)

    inputs = [from_[feature] for feature in network.features.tolist()]
    connect([0, 1], inputs, [to[unit] for unit in network.units.tolist()], network.weights)
    for place, home in zip(to, homes, strict=True):
        ax.plot([1, 1.6], [place, ends[home]], color="#BBBBBB", linewidth=0.8, zorder=0)
    if several is not None:
        units = [to[unit] for unit in several.out_units.tolist()]
        outputs = [ends[k] for k in several.out_classes.tolist()]
        connect([1, 1.6], units, outputs, several.out_weights)
    ax.scatter([0] * len(used), list(from_.values()), color="black", s=18, zorder=2)
    ax.scatter([1] * len(to), to, color="white", edgecolors="black", s=60, zorder=2)
    ax.scatter([1.6] * n_outputs, ends, color="black", marker="s", s=40, zorder=2)
    for feature, place in from_.items():
        ax.text(-0.05, place, names[feature].replace("$", r"\$"), ha="right", va="center")
    for name, place in zip(classes, ends, strict=False):
        ax.text(1.66, place, name.replace("$", r"\$"), ha="left", va="center")
    ax.set(xlim=(-0.6, 2.1 if classes else 1.7), ylim=(rows - 0.5, -0.5))
    ax.set_title(f"{len(used)} features, {network.n_hidden} hidden units", fontsize="medium")
    ax.set_axis_off()
    return ax


def _places(count: int, rows: int) -> list[float]:
    """Heights of so many points, spread over the rows."""
    return [(i + 0.5) * rows / count - 0.5 for i in range(count)]
